"""The runner: one directory a run, trained once, measured as often as tables ask, resumed after any death.

Several runners may share a directory: a lease keeps each run in one hand. Whatever is complete is skipped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from noisyrnn import __version__
from noisyrnn.experiments.engines import Engine, Serial
from noisyrnn.experiments.lease import Lease, taken
from noisyrnn.experiments.measuring import loaded, measure, missing
from noisyrnn.experiments.note import Note
from noisyrnn.experiments.place import (
    BRANCH,
    CHECKPOINT,
    DONE,
    SPEC,
    home,
    inherit,
    machine,
    summary_in,
    sweep,
    write_json,
)
from noisyrnn.experiments.spec import Experiment, canonical
from noisyrnn.experiments.task import Outcome, Result, Task, tasks
from noisyrnn.train import Moment, fit, fresh

Watch = Callable[[str, int, Moment], None]
"""Called with label, seed and moment after each batch, where the engine works in this process."""


def run(
    experiments: Experiment | Sequence[Experiment],
    directory: Path | str,
    *,
    engine: Engine | None = None,
    every: int | None = None,
    watch: Watch | None = None,
    done: Callable[[Result, int], None] | None = None,
) -> Outcome:
    """Every cell of the experiments, as rows below ``directory``; what is there already is not done again.

    ``every`` counts batches between checkpoints within an epoch. ``done`` is called with each result and the number of
    tasks, ``watch`` within runs. A run that fails does not stop the others; what failed is in the outcome.

    >>> import tempfile
    >>> from noisyrnn.data import Digits
    >>> from noisyrnn.evaluate import Clean
    >>> from noisyrnn.experiments import Measurement, Recipe, rows
    >>> from noisyrnn.models import Lipschitz
    >>> from noisyrnn.train import Train
    >>> tiny = Experiment(name="tiny", claim="", data=Digits(reading="rows"), seeds=1,
    ...     recipes={"lipschitz": Recipe(model=Lipschitz(hidden=4), train=Train(epochs=1, batch=600))},
    ...     measurements=(Measurement(measure=Clean()),))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     outcome = run(tiny, directory)
    ...     [(row["model"], row["measure"], row["samples"]) for row in rows(directory)]
    [('lipschitz', 'clean', 397)]
    """
    chosen = Serial() if engine is None else engine
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"{place} cannot be used ({error.strerror}): choose a directory that can be written."
        ) from error
    wanted = tasks([experiments] if isinstance(experiments, Experiment) else experiments)
    work = partial(perform, directory=place, every=every, watch=watch if chosen.local else None)
    outcome = Outcome()
    for result in chosen(work, wanted):
        outcome.results.append(result)
        if done is not None:
            done(result, len(wanted))
    return outcome


def perform(task: Task, *, directory: Path, every: int | None = None, watch: Watch | None = None) -> Result:
    """One task: trained if it is not yet, measured where a row is missing; a ValueError becomes a failure."""
    began, key = time.perf_counter(), task.run.key

    def result(**what: Any) -> Result:
        spent = time.perf_counter() - began
        return Result(label=task.label, seed=task.run.seed, key=key, seconds=spent, **what)

    try:
        place = home(task.run, directory)
        key = place.name
        if not missing(task, place):
            return result()
        lease = taken(place)
        if lease is None:
            return result(busy=True)
        note = Note(place, f"{task.label}, seed {task.run.seed}")
        with lease:
            sweep(place)
            try:
                trained = _train(task, place, lease, every, watch, note)
                return result(trained=trained, rows=_measure(task, place, lease, note))
            finally:
                note.gone()
    except ValueError as error:
        return result(failure=str(error))


def _measure(task: Task, place: Path, lease: Lease, note: Note) -> int:
    wanted, begun = len(missing(task, place)), count()

    def check() -> None:
        lease.check()
        note("measuring", next(begun), wanted)

    return measure(task, place, check)


def _train(task: Task, place: Path, lease: Lease, every: int | None, watch: Watch | None, note: Note) -> bool:
    run, path = task.run, place / CHECKPOINT
    if summary_in(place) is not None:
        return False
    write_json(place / SPEC, json.loads(canonical(run)))
    if not path.exists():
        inherit(run, place)
    splits = loaded(run.data)

    def progress(moment: Moment) -> None:
        lease.check()
        text = f"epoch {moment.epoch} of {moment.epochs}, loss {moment.loss:.3f}"
        note(text, (moment.epoch - 1) * moment.batches + moment.batch, moment.epochs * moment.batches)
        if watch is not None:
            watch(task.label, run.seed, moment)

    network = fresh(run.model, inputs=splits.train.x.shape[2], classes=len(splits.classes), seed=run.seed)
    history = fit(
        network,
        splits.train,
        run.train,
        seed=run.seed,
        validation=splits.validation,
        setting=run.model,
        path=path,
        every=every,
        branch=place / BRANCH,
        about={"classes": list(splits.classes), "data": json.loads(canonical(run.data))},
        progress=progress,
    )
    lease.check()
    summary = {
        "epochs": len(history),
        "seconds": sum(epoch.seconds for epoch in history),
        "host": machine(),
        "version": __version__,
        "drawing": splits.drawing.model_dump(mode="json"),
        "provenance": [file.model_dump(mode="json") for file in splits.provenance],
    }
    write_json(place / DONE, summary)
    return True
