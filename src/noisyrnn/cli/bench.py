"""``noisyrnn bench``: speed beside the peers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def bench(
    full: Annotated[bool, typer.Option("--full", help="Every shape; about half an hour.")] = False,
    out: Annotated[Path | None, typer.Option(help="Directory for bench.json, bench.md and bench.svg.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the cases that bench.json in --out already has.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measurements for scripts.")] = False,
) -> None:
    """Training and forward time of the noisy RNN beside its peers, as ratios in one run.

    Denormal numbers are flushed for all, and each case runs in a process on as many cores as it has threads. Peers that
    are not installed are left out. Run it on an idle machine; with --out an interrupted run goes on by --resume.

    Example: noisyrnn bench --out docs/bench
    """
    from rich.console import Console

    from noisyrnn.bench import Machine, Measurement, figure, machine, markdown, verdicts
    from noisyrnn.bench import bench as measured
    from noisyrnn.disk import check_directory, save

    if resume and out is None:
        raise typer.BadParameter("--resume needs --out, the directory that holds what was measured so far.")
    if out is not None:
        check_directory(out)
    known: list[Measurement] = []
    where = machine()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        kept = out / "bench.json"
        if resume and kept.exists():
            try:
                before = json.loads(kept.read_text())
                known = [Measurement.model_validate(one) for one in before["measurements"]]
                where = Machine.model_validate(before["machine"])
            except (ValueError, KeyError, TypeError):
                raise typer.BadParameter(f"{kept} is not what this command wrote; run without --resume.") from None

    def document(found: list[Measurement]) -> str:
        judged = {
            name: {"ratio": value.middle, "least": value.least, "most": value.most, "met": met}
            for name, (value, met) in verdicts(found, where).items()
        }
        measurements = [one.model_dump(mode="json") for one in found]
        return json.dumps({"machine": where.model_dump(), "measurements": measurements, "targets": judged}, indent=1)

    def keep(found: list[Measurement]) -> None:
        if out is not None:
            save(out / "bench.json", document(found).encode())

    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:
        found = measured(full=full, known=known, progress=lambda line: status.update(line), save=keep)
    if out is not None:
        command = "noisyrnn bench" + (" --full" if full else "")
        save(out / "bench.md", f"Made by `{command}`.\n\n{markdown(found, where)}".encode())
        figure(found, out / "bench.svg")
    if as_json or not quiet:
        typer.echo(document(found) if as_json else markdown(found, where))
