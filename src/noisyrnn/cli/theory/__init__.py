"""``noisyrnn theory``: each theorem on a saved model or on a system with known answers."""

from __future__ import annotations

import typer

from noisyrnn.cli.theory.convergence import convergence
from noisyrnn.cli.theory.explanation import explanation
from noisyrnn.cli.theory.generalisation import generalisation
from noisyrnn.cli.theory.hessian import hessian
from noisyrnn.cli.theory.lyapunov import lyapunov
from noisyrnn.cli.theory.margin import margin
from noisyrnn.cli.theory.regulariser import regulariser

theory = typer.Typer(
    help="The theorems, on a saved model (--model) or on a system with known answers (--problem).",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command in (regulariser, margin, generalisation, lyapunov, convergence, hessian, explanation):
    theory.command()(command)
