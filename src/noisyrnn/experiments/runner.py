"""The runner: one directory per run, trained once, measured as often as tables ask, resumed after any death.

An engine (``experiments.engines``) decides in which process a run works. Several runners may share a directory: a lease
keeps each run in one hand, and the numbered files of claims keep late hands harmless.
Whatever is complete is skipped; what a published record already has is taken from there.
"""

from __future__ import annotations

import json
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from noisyrnn import __version__
from noisyrnn.about import describe
from noisyrnn.experiments.engines import Engine, Lost, Serial
from noisyrnn.experiments.machine import machine
from noisyrnn.experiments.measure import missing, splits_of, write_rows
from noisyrnn.experiments.plan import Job, Outcome, Result, jobs
from noisyrnn.experiments.record import Record
from noisyrnn.experiments.spec import Experiment
from noisyrnn.experiments.store.claim import Claim, take_claim
from noisyrnn.experiments.store.lease import Lease, LeaseLost, hold_lease
from noisyrnn.experiments.store.progress_file import PROGRESS, ProgressFile
from noisyrnn.experiments.store.run_directory import Done, RunDirectory, sisters
from noisyrnn.sde.brownian import CONTRACT
from noisyrnn.setting import canonical, in_a_sentence
from noisyrnn.train import Moment, Unlearned, fit, fresh
from noisyrnn.train.loop import remark_on

Watch = Callable[[str, int, Moment], None]
"""Called with label, seed and moment after each batch, where the engine works in this process."""


def run(
    experiments: Experiment | Sequence[Experiment],
    directory: Path | str,
    *,
    engine: Engine | None = None,
    record: Path | str | None = None,
    every: int | None = None,
    watch: Watch | None = None,
    done: Callable[[Result, int], None] | None = None,
) -> Outcome:
    """Every cell of the experiments, as rows below ``directory``; what is there already is not done again.

    Parameters
    ----------
    experiments
        What to train and measure; runs that several share are trained once.
    directory
        Where runs work, one directory each; made if it is not there.
    engine
        How jobs are worked through: ``Serial()`` by default, ``Joblib(workers=2)``, or one of your own.
    record
        A published record: rows, networks and states of unfinished runs that it has are taken from there.
    every
        Batches between checkpoints within an epoch; by default there is one after each epoch.
    watch
        Called with label, seed and moment after each batch, where the engine works in this process.
    done
        Called with each result and the number of jobs.

    Returns
    -------
    Outcome
        Results of all jobs. A run that fails does not stop the others; what failed is in ``outcome.failures``.

    Examples
    --------
    >>> import tempfile
    >>> from noisyrnn.data import Digits
    >>> from noisyrnn.evaluate import Clean
    >>> from noisyrnn.experiments import Measurement, Recipe, rows
    >>> from noisyrnn.models import Lipschitz
    >>> from noisyrnn.train import Train
    >>> tiny = Experiment(name="tiny", data=Digits(reading="rows"), seeds=1,
    ...     recipes={"lipschitz": Recipe(model=Lipschitz(hidden=4), train=Train(epochs=1, batch=600))},
    ...     measurements=(Measurement(measure=Clean()),))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     outcome = run(tiny, directory)
    ...     [(row.model, row.measure, row.samples) for row in rows(directory)]
    [('lipschitz', 'clean', 397)]
    """
    wanted = [experiments] if isinstance(experiments, Experiment) else list(experiments)
    if every is not None and every < 1:
        raise ValueError(f"every counts batches between checkpoints and must be at least 1, got {every}.")
    chosen = Serial() if engine is None else engine
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"{place} cannot be used ({error.strerror}): choose a directory that can be written."
        ) from error
    describe(place, [experiment.about() for experiment in wanted])
    todo = jobs(wanted)
    source = None if record is None else Path(record)
    work = partial(perform, directory=place, record=source, every=every, watch=watch if chosen.local else None)
    outcome = Outcome()

    def note(answer: Result | Lost) -> None:
        result = _given_up(answer) if isinstance(answer, Lost) else answer
        outcome.results.append(result)
        if done is not None:
            done(result, len(todo))

    busy = []
    for result in chosen(work, todo):
        if isinstance(result, Result) and result.busy:
            busy.append(result)
        else:
            note(result)
    # Another runner may be at work, or dead on another machine: a second look waits for its sign of life.
    late = [job for job in todo if job.run.key in {result.key for result in busy}]
    for result in chosen(partial(work, watch_holder=True), late) if late else ():
        note(result)
    return outcome


def _given_up(lost: Lost) -> Result:
    job: Job = lost.job
    why = f"{lost.reason}, again and again: perhaps for lack of memory; try fewer workers or a smaller batch."
    return Result(label=job.label, seed=job.run.seed, key=job.run.key, failure=why)


def perform(
    job: Job,
    *,
    directory: Path,
    record: Path | None = None,
    every: int | None = None,
    watch: Watch | None = None,
    watch_holder: bool = False,
) -> Result:
    """One job: trained if it is not yet, measured where a row is missing; any exception becomes a failure."""
    began = time.perf_counter()

    def result(**what: Any) -> Result:
        spent = time.perf_counter() - began
        return Result(label=job.label, seed=job.run.seed, key=job.run.key, seconds=spent, **what)

    try:
        place = RunDirectory.of(job.run, directory)
        if place.path.exists() and not missing(job, place.rows()):
            _tidy(place)
            return result()
        with hold_lease(place.path, watch=watch_holder) as lease:
            if lease is None:
                return result(busy=True)
            place.tidy()
            if record is not None and not place.rows():
                Record(record).restore(job.run, place)
                if not missing(job, place.rows()):
                    return result()
            claim, progress = take_claim(place, job.run), ProgressFile(place.path, str(job))
            try:
                done = _train(job, claim, lease, progress, every=every, watch=watch, record=record)
                rows = _measure(job, claim, lease, progress)
                return result(trained=done is not None, rows=rows, remark=None if done is None else done.remark)
            finally:
                progress.remove()
    except LeaseLost:
        return result(busy=True)
    except Exception as error:
        return result(failure=in_a_sentence(error), trace=traceback.format_exc())


def _tidy(place: RunDirectory) -> None:
    """A complete run: nothing says any longer that somebody is at work, unless somebody is."""
    if (place.path / "lease").exists() or (place.path / PROGRESS).exists():
        with hold_lease(place.path) as lease:
            if lease is not None:
                (place.path / PROGRESS).unlink(missing_ok=True)


def _measure(job: Job, claim: Claim, lease: Lease, progress: ProgressFile) -> int:
    def before(done: int, wanted: int) -> None:
        lease.check()
        progress("measuring", done, wanted)

    return write_rows(job, claim.directory, claim, before)


def _train(
    job: Job,
    claim: Claim,
    lease: Lease,
    progress: ProgressFile,
    *,
    every: int | None,
    watch: Watch | None,
    record: Path | None,
) -> Done | None:
    """What is known of the training, if it was not done already."""
    run, place = job.run, claim.directory
    if place.done() is not None:
        return None
    lent = [] if record is None else Record(record).states(run)
    claim.begin(run, [path for sister in sisters(run, place.path.parent) for path in sister.states()] + lent)
    splits = splits_of(run.data)

    def report(moment: Moment) -> None:
        lease.check()
        text = f"epoch {moment.epoch} of {moment.epochs}, loss {moment.loss:.3f}"
        progress(text, (moment.epoch - 1) * moment.batches + moment.batch, moment.epochs * moment.batches)
        if watch is not None:
            watch(job.label, run.seed, moment)

    network = fresh(run.model, inputs=splits.train.x.shape[2], classes=len(splits.classes), seed=run.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Unlearned)  # said at the end of the sweep instead
        history = fit(
            network,
            splits.train,
            run.train,
            seed=run.seed,
            validation=splits.validation,
            setting=run.model,
            path=claim.state,
            every=every,
            branch=claim.branch,
            about={"classes": list(splits.classes), "data": json.loads(canonical(run.data))},
            progress=report,
        )
    done = Done(
        epochs=len(history),
        seconds=sum(epoch.seconds for epoch in history),
        host=machine(),
        version=__version__,
        contract=CONTRACT,
        drawing=splits.drawing,
        provenance=splits.provenance,
        remark=remark_on(network, splits.train, run.train, history),
    )
    claim.finish(done)
    return done
