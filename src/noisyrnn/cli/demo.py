"""``noisyrnn demo``: the whole story on digits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from noisyrnn.rows import Row


def demo(
    out: Annotated[Path, typer.Option(help="Where runs and the page go.")] = Path("demo"),
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Runs of each model.")] = 3,
) -> None:
    """Train a noisy and a plain network on handwritten digits, perturb, attack, and write one page.

    Needs no download and about a minute; what is done already is not done again.

    Example: noisyrnn demo
    """
    from noisyrnn.cli.experiments import conclude, perform
    from noisyrnn.disk import check_directory
    from noisyrnn.experiments import EXPERIMENTS, Joblib, reduced, rows
    from noisyrnn.report import report

    check_directory(out)
    conclude(perform([reduced(EXPERIMENTS["demo"], seeds=seeds)], out / "runs", engine=Joblib(workers=2)))
    typer.echo(summary(rows(out / "runs")))
    documents = report(out / "runs", out)
    typer.echo(f"\nThe page with figures: {documents.html}")


def summary(rows: Iterable[Row]) -> str:
    """A small table: mean accuracy of each network under each perturbation."""
    cells: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.experiment == "demo":
            cells[row.column][row.model].append(row.value)
    lines = [f"{'accuracy, %':<22}{'plain':>8}{'noisy':>8}"]
    for (measure, level), models in cells.items():
        name = measure if measure == "clean" else f"{measure} {level:g}"
        plain, noisy = (f"{mean(models[label]):.1f}" if models.get(label) else "" for label in ("lipschitz", "nrnn"))
        lines.append(f"{name:<22}{plain:>8}{noisy:>8}")
    return "\n".join(lines)
