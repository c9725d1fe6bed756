"""``noisyrnn demo``: the whole story on digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("demo"),
    epochs: Annotated[int, typer.Option(min=1, max=1000, help="Times through the digits, for each classifier.")] = 80,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of all that is drawn.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found for scripts.")] = False,
) -> None:
    """Fit a plain and a robust classifier to handwritten digits, disturb, attack and certify them, write one page.

    Needs no download and about a minute; everything is done by the public classifier, `noisyrnn.NoisyRNNClassifier`.

    Example: noisyrnn demo
    """
    from rich.console import Console

    from noisyrnn.disk import check_directory, save
    from noisyrnn.estimator.demonstration import demonstrate, page, summary

    check_directory(out)
    console = Console(stderr=True, quiet=quiet or as_json)
    with console.status("") as status:
        found = demonstrate(epochs=epochs, seed=seed, told=lambda line: status.update(line))
    path = save(out / "demo.html", page(found).encode())
    if as_json:
        both = {"plain": found.plain.as_dict(), "robust": found.robust.as_dict()}
        typer.echo(json.dumps({**both, "outcome": found.outcome, "page": str(path)}))
    elif not quiet:
        typer.echo(f"{summary(found)}\n\nThe page with figures: {path}")
