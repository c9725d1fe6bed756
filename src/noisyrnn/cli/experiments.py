"""``noisyrnn run`` and ``noisyrnn report``: rows, and what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def run(
    experiments: Annotated[list[str], typer.Argument(help="Names as in `noisyrnn list`, for example table-3.")],
    out: Annotated[Path, typer.Option(help="Directory of runs and rows; what is done there is not done again.")] = Path(
        "results"
    ),
    seeds: Annotated[int | None, typer.Option(help="Fewer seeds than the protocol's.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Fewer epochs; decays move along.")] = None,
    models: Annotated[
        str | None, typer.Option(help="Labels or patterns, separated by commas: 'lipschitz,nrnn*'.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Another setting, for example train.lr=0.01 or model.hidden=64.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each; 1 works in this process.")] = 1,
    every: Annotated[int | None, typer.Option(help="Batches between checkpoints inside an epoch.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome for scripts.")] = False,
) -> None:
    """Train and measure what an experiment asks for; stop and go on at any time.

    Reduced protocols are labelled as such in every row.

    Example: noisyrnn run table-3 --seeds 2 --epochs 10 --models 'lipschitz,nrnn*' --workers 2
    """
    from noisyrnn import experiments as room

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
    engine: Any = room.Serial() if workers == 1 else room.Joblib(workers=workers)
    outcome = performed(wanted, out, engine=engine, every=every, quiet=as_json)
    if as_json:
        typer.echo(json.dumps([vars(result) for result in outcome.results]))
    for label, failure in outcome.failures.items():
        typer.echo(f"noisyrnn: {label}: {failure}", err=True)
    if outcome.busy:
        typer.echo(
            f"noisyrnn: another runner is at work on {', '.join(outcome.busy)}; run again when it is done.", err=True
        )
    if not outcome.complete:
        raise typer.Exit(1)
    if not as_json:
        typer.echo(f"Rows are below {out}; `noisyrnn report {out}` shows them.")


def performed(
    wanted: list[Any], out: Path, *, engine: Any = None, every: int | None = None, quiet: bool = False
) -> Any:
    """Outcome of the runs, with bars on a terminal and a line a run elsewhere."""
    from noisyrnn import experiments as room

    with room.bars(out, quiet=quiet) as progress:
        return room.run(wanted, out, engine=engine, every=every, done=progress.done)


def report(
    directory: Annotated[Path, typer.Argument(help="Where rows are, at any depth.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; the directory itself by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the paths for scripts.")] = False,
) -> None:
    """Tables, figures and decided claims from rows: HTML, Markdown, CSV and JSON.

    Example: noisyrnn report results
    """
    from noisyrnn.report import report as written

    documents = written(directory, out or directory)
    paths = {name: str(path) for name, path in documents._asdict().items()}
    if as_json:
        typer.echo(json.dumps(paths))
    else:
        typer.echo("\n".join(f"{name:10}{path}" for name, path in paths.items()))
