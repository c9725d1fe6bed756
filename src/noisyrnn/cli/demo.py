"""``noisyrnn demo``: the whole story on digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Where runs and the page go.")] = Path("demo"),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each model.")] = 2,
) -> None:
    """Train a noisy and a plain network on handwritten digits, perturb, attack, and write one page.

    Needs no download and about two minutes; what is done already is not done again.

    Example: noisyrnn demo
    """
    from noisyrnn.cli.experiments import performed
    from noisyrnn.demo import story, summary
    from noisyrnn.experiments import Joblib, rows
    from noisyrnn.report import report

    experiment = story(seeds=seeds)
    outcome = performed([experiment], out / "runs", engine=Joblib(workers=2))
    if not outcome.complete:
        for label, failure in outcome.failures.items():
            typer.echo(f"noisyrnn: {label}: {failure}", err=True)
        raise typer.Exit(1)
    typer.echo(summary(rows(out / "runs")))
    documents = report(out / "runs", out)
    typer.echo(f"\nThe page with figures: {documents.html}")
