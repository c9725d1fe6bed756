"""``noisyrnn run``, ``noisyrnn record`` and ``noisyrnn report``: rows, what is published of them, what they say."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisyrnn.experiments import Engine, Experiment, Outcome

RECORD = Path("results")


class EngineName(StrEnum):
    """How runs are worked through."""

    SERIAL = "serial"
    JOBLIB = "joblib"
    RAY = "ray"


class Networks(StrEnum):
    """Whose networks are published."""

    ALL = "all"
    FIRST = "first"
    NONE = "none"


def run(
    experiments: Annotated[
        list[str], typer.Argument(help="Names as in `noisyrnn list`, for example table-3, or JSON files.")
    ],
    out: Annotated[Path, typer.Option(help="Where runs work; what is done there is not done again.")] = Path("runs"),
    seeds: Annotated[int | None, typer.Option(help="Fewer seeds than the protocol's.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Fewer epochs; decays move along.")] = None,
    models: Annotated[
        str | None, typer.Option(help="Labels or patterns, separated by commas: 'lipschitz,nrnn*'.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Another setting, for example train.lr=0.01 or model.hidden=64.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=1024, help="Processes, one thread each; 1 works in this process.")
    ] = 1,
    engine: Annotated[
        EngineName | None, typer.Option(help="serial for one worker and joblib for more, if none is named.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster, with --engine ray.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="A published record to go on from; `results` if it is there.")
    ] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Batches between checkpoints inside an epoch.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome for scripts.")] = False,
) -> None:
    """Train and measure what an experiment asks for; stop and go on at any time.

    Reduced protocols are labelled as such in every row. What a published record has is not done again: its rows and
    networks are taken over, and its unfinished runs go on.

    Example: noisyrnn run table-3 --seeds 2 --epochs 10 --models 'lipschitz,nrnn*' --workers 2
    """
    from noisyrnn import experiments as room
    from noisyrnn.disk import check_directory

    check_directory(out)
    wanted = [
        room.reduced(
            room.experiment(name),
            epochs=epochs,
            seeds=seeds,
            models=None if models is None else [label.strip() for label in models.split(",")],
            overrides=dict(room.override(text) for text in overrides or []),
        )
        for name in experiments
    ]
    if record is not None and not room.Record(record).exists:
        raise ValueError(f"{record} is no record, because it has no runs.csv; name one, or leave --record out.")
    source = record or (RECORD if room.Record(RECORD).exists and out.resolve() != RECORD.resolve() else None)
    chosen = _engine(engine, workers, address)
    outcome = perform(wanted, out, engine=chosen, record=source, every=every, quiet=as_json or quiet)
    if as_json:
        typer.echo(json.dumps([vars(result) for result in outcome.results]))
    conclude(outcome)
    if not (as_json or quiet):
        typer.echo(f"Rows are below {out}; `noisyrnn report {out}` shows them.")


def _engine(name: EngineName | None, workers: int, address: str | None) -> Engine:
    """The engine of that name; what it would ignore is refused."""
    from noisyrnn import experiments as room

    name = name or (EngineName.SERIAL if workers == 1 else EngineName.JOBLIB)
    if address is not None and name is not EngineName.RAY:
        raise ValueError(f"--address is for --engine ray, and this is {name}; leave one of them out.")
    if name is EngineName.SERIAL and workers > 1:
        raise ValueError(f"--engine serial has one worker, got --workers {workers}; leave one of them out.")
    if name is EngineName.RAY:
        return room.Ray(workers=workers, address=address)
    return room.Serial() if name is EngineName.SERIAL else room.Joblib(workers=workers)


def perform(
    wanted: list[Experiment],
    out: Path,
    *,
    engine: Engine | None = None,
    record: Path | None = None,
    every: int | None = None,
    quiet: bool = False,
) -> Outcome:
    """Outcome of the runs, with bars on a terminal and one line per run elsewhere."""
    from noisyrnn import experiments as room

    with room.show_progress(out, quiet=quiet) as done:
        return room.run(wanted, out, engine=engine, record=record, every=every, done=done)


def conclude(outcome: Outcome) -> None:
    """Nothing, if all is done; else what is not, each reason once, and exit code 1."""
    import os

    reasons: dict[str, list[str]] = {}
    for label, failure in outcome.failures.items():
        reasons.setdefault(failure, []).append(label)
    for failure, labels in reasons.items():
        who = labels[0] if len(labels) == 1 else f"{len(labels)} runs, the first of them {labels[0]}"
        typer.echo(f"noisyrnn: {who}: {failure}", err=True)
    for label, said in outcome.remarks.items():
        typer.echo(f"noisyrnn: {label}: {said}", err=True)
    if os.environ.get("NOISYRNN_DEBUG"):
        for result in outcome.results:
            if result.trace:
                typer.echo(f"\n{result}\n{result.trace}", err=True)
    if outcome.busy:
        typer.echo(
            f"noisyrnn: another runner is at work on {', '.join(outcome.busy)}; run again when it is done.", err=True
        )
    if not outcome.complete:
        raise typer.Exit(1)


def record(
    runs: Annotated[Path, typer.Argument(help="Where experiments were run, at any depth.")],
    target: Annotated[Path, typer.Argument(metavar="RECORD", help="The record; made if it is not there.")],
    networks: Annotated[
        Networks, typer.Option(help="Whose networks are published: of every seed, of seed 0, of none.")
    ] = Networks.ALL,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts for scripts.")] = False,
) -> None:
    """Publish runs: rows and runs as tables, trained networks under names that a person reads.

    Merges, and can be repeated: what is there already stays. A number that contradicts the record is refused, and then
    nothing is written. Unfinished runs are carried along with their latest state, appear in no report, and go on in
    another clone with `noisyrnn run`.

    Example: noisyrnn record runs results
    """
    from noisyrnn.experiments import merge

    merged = merge(runs, target, networks=networks.value)
    if as_json:
        typer.echo(json.dumps(vars(merged)))
        return
    new = f"{merged.runs} new runs, {merged.rows} new rows, {merged.networks} new networks"
    if not quiet:
        typer.echo(f"{target}: {new}, {merged.unfinished} unfinished.")


def report(
    directory: Annotated[Path, typer.Argument(help="A record, or where experiments were run, at any depth.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; `report` below the directory by default.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the paths for scripts.")] = False,
) -> None:
    """Tables, figures and decided claims from rows: HTML, Markdown, CSV and JSON.

    Example: noisyrnn report results
    """
    from noisyrnn.disk import check_directory
    from noisyrnn.report import report as write

    place = out or directory / "report"
    check_directory(place if directory.is_dir() or out else Path())
    documents = write(directory, place)
    paths: dict[str, Any] = {name: str(path) for name, path in documents._asdict().items()}
    if as_json:
        typer.echo(json.dumps(paths))
    elif not quiet:
        typer.echo("\n".join(f"{name:10}{path}" for name, path in paths.items()))
