"""``noisyrnn bench``: speed beside the peers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def bench(
    full: Annotated[bool, typer.Option("--full", help="Every size along each axis; about half an hour.")] = False,
    out: Annotated[Path | None, typer.Option(help="Directory for bench.json, bench.md and bench.svg.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measurements for scripts.")] = False,
) -> None:
    """Training and forward time of the noisy RNN beside its peers, as ratios in one run.

    Peers that are not installed are left out. Run it on an idle machine.

    Example: noisyrnn bench --out docs/bench
    """
    from rich.console import Console

    from noisyrnn.bench import bench as measured
    from noisyrnn.bench import figure, markdown, verdicts
    from noisyrnn.disk import check_directory, save

    if out is not None:
        check_directory(out)
    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:
        found = measured(full=full, progress=lambda line: status.update(line))
    document = {
        "measurements": [one.model_dump() for one in found],
        "targets": {name: {"ratio": value, "met": met} for name, (value, met) in verdicts(found).items()},
    }
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        command = "noisyrnn bench" + (" --full" if full else "")
        save(out / "bench.json", json.dumps(document, indent=1).encode())
        save(out / "bench.md", f"Made by `{command}`.\n\n{markdown(found)}".encode())
        figure(found, out / "bench.svg")
    if as_json or not quiet:
        typer.echo(json.dumps(document) if as_json else markdown(found))
