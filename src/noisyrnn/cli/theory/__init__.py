"""``noisyrnn theory``: each theorem on a saved model or on a system with known answers."""

from __future__ import annotations

import typer

from noisyrnn.cli.checks import Command, Group
from noisyrnn.cli.theory import convergence, explanation, generalisation, hessian, lyapunov, margin, regulariser

theory = typer.Typer(
    cls=Group,
    help="The theorems, on a saved model (--model) or on a system with known answers (--problem).",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command in (
    regulariser.regulariser,
    margin.margin,
    generalisation.generalisation,
    lyapunov.lyapunov,
    convergence.convergence,
    hessian.hessian,
    explanation.explanation,
):
    theory.command(cls=Command)(command)
