"""Runs into a record: idempotent, atomic file by file, and refused as a whole where the two contradict each other.

Summaries of what the theorems say of a network (``record.summaries``) are taken along where somebody asked for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from noisyrnn import disk
from noisyrnn.about import ABOUT, abouts_in, describe
from noisyrnn.checkpoint import LARGEST, Checkpoint, load, packed
from noisyrnn.experiments.catalogue import EXPERIMENTS
from noisyrnn.experiments.record.names import network_name
from noisyrnn.experiments.record.published import SOURCES, Record, Source, Sources, run_of
from noisyrnn.experiments.record.summaries import TABLE, TheorySummary, summaries_in, summaries_text, summary_of
from noisyrnn.experiments.spec import Run, task_of
from noisyrnn.experiments.store.claim import furthest
from noisyrnn.experiments.store.run_directory import SPEC, Done, RunDirectory
from noisyrnn.record_tables import ROWS, RUNS, RunLine, rows_text, runs_text
from noisyrnn.rows import Row
from noisyrnn.setting import own_settings
from noisyrnn.train import continued

LONG = 1800.0
"""Seconds of training after which a state is published, too, from which it can be continued."""

Networks = Literal["all", "first", "none"]
"""Whose networks are published: of every seed, of seed 0, of none."""


@dataclass
class Merged:
    """What a merge did: counts of what is new."""

    runs: int = 0
    rows: int = 0
    networks: int = 0
    unfinished: int = 0


@dataclass
class _Draft:
    """A record in memory, before anything is written."""

    record: Record
    lines: dict[str, RunLine]
    rows: dict[tuple[str, ...], Row]
    sources: dict[str, Source]
    summaries: dict[str, TheorySummary]
    files: dict[Path, bytes] = field(default_factory=dict)
    gone: set[Path] = field(default_factory=set)
    merged: Merged = field(default_factory=Merged)


def merge(runs: Path | str, record: Path | str, *, networks: Networks = "all") -> Merged:
    """Every run below ``runs`` in the record; nothing is written where a number contradicts one that is there.

    Parameters
    ----------
    runs
        A directory that experiments were run into, at any depth.
    record
        The record; made if it is not there.
    networks
        Whose networks are published: "all", those of seed 0 ("first"), or "none".

    Returns
    -------
    Merged
        How many runs, rows and networks are new; a second call finds nothing new.

    Examples
    --------
    >>> merge("no/such/directory", "results")
    Traceback (most recent call last):
    ValueError: There is no run below no/such/directory: give the directory that experiments were run into.
    """
    found = list(_directories(Path(runs)))
    if not found:
        raise ValueError(f"There is no run below {runs}: give the directory that experiments were run into.")
    target = Record(record)
    try:
        with disk.writing(record):
            target.path.mkdir(parents=True, exist_ok=True)
            with FileLock(target.path / ".lock", timeout=60):
                rows = {row.cell: row for row in target.rows()}
                draft = _Draft(target, dict(target.runs()), rows, target.sources(), summaries_in(target.path))
                for directory in found:
                    _add(draft, directory, networks)
                _write(draft, Path(runs))
                return draft.merged
    except Timeout as error:
        raise ValueError(f"{record} is being written by another process: try again when it is done.") from error


def _directories(runs: Path) -> Iterator[RunDirectory]:
    for spec in sorted(runs.rglob(SPEC)):
        yield RunDirectory(spec.parent)


def _add(draft: _Draft, directory: RunDirectory, networks: Networks) -> None:
    run, done = directory.spec(), directory.done()
    known = draft.lines.get(run.key)
    if done is None:
        if known is None or known.status == "unfinished":
            _add_unfinished(draft, directory, run, known)
        return
    rows = directory.rows()
    for row in rows:
        if (row.key, row.task, row.seed) != (run.key, task_of(run.data), run.seed):
            raise ValueError(
                f"{directory.path} has a row of another run ({row.key}, {row.task}, seed {row.seed}); nothing was "
                "recorded: remove that row."
            )
        _add_row(draft, row, directory)
    if (told := summary_of(directory)) is not None:
        draft.summaries[run.key] = told
    wanted = networks == "all" or (networks == "first" and run.seed == 0)
    checkpoint = directory.network(done) if wanted else None
    line = known if known and known.status == "finished" else None
    if line is None:
        draft.merged.runs += 1
        line = _line(run, done, draft)
    if known is not None and known.status == "finished" and known.name and draft.record.network_path(known).is_file():
        checkpoint = None  # a published network stays, though the same run was trained again
    if checkpoint is not None and not line.name:
        taken = {other.name for other in draft.lines.values() if other.task == line.task and other.key != run.key}
        line = line.model_copy(update={"name": network_name(run, rows, done.epochs, taken)})
        draft.merged.networks += 1
    draft.lines[run.key] = line
    if known is not None and known.status == "unfinished" and known.name:
        draft.gone.add(draft.record.state_path(known))
    if checkpoint is not None:
        weights = Checkpoint(header=checkpoint.header, network=checkpoint.network, best=checkpoint.best)
        draft.files[draft.record.network_path(line)] = packed(weights)
        if done.seconds > LONG:
            branch = directory.branch(done)
            draft.files[draft.record.state_path(line)] = _bytes(branch) if branch else packed(checkpoint)


def _add_unfinished(draft: _Draft, directory: RunDirectory, run: Run, known: RunLine | None) -> None:
    """The latest state, in place of an earlier one; a run that has not saved any is not there yet."""
    state = furthest(run, directory.numbered("state", ".safetensors"), [])
    if state is None:
        return
    at = continued(load(state).header, run.train, run.seed)
    history = at.history if at else ()
    taken = {line.name for line in draft.lines.values() if line.key != run.key}
    line = RunLine(
        key=run.key, task=task_of(run.data), status="unfinished", epochs=len(history), seed=run.seed,
        name=known.name if known else network_name(run, [], run.train.epochs, taken),
        seconds=sum(epoch.seconds for epoch in history), host="unknown", version="unknown",
        data=own_settings(run.data), model=own_settings(run.model), train=own_settings(run.train),
    )  # fmt: skip
    if known is not None and known.epochs > line.epochs:
        return
    draft.lines[run.key] = line
    draft.files[draft.record.state_path(line)] = _bytes(state)
    draft.merged.unfinished += 1


def _bytes(path: Path) -> bytes:
    return disk.read(path, most=LARGEST)


def _add_row(draft: _Draft, row: Row, directory: RunDirectory) -> None:
    before = draft.rows.get(row.cell)
    if before is None:
        draft.rows[row.cell] = row
        draft.merged.rows += 1
    elif before.value != row.value:
        raise ValueError(
            f"{directory.path} contradicts {draft.record.path}: {row.model}, seed {row.seed}, {row.measure} "
            f"{row.level:g} of {row.experiment} is {row.value} there and {before.value} in the record; nothing was "
            "recorded: find out which is right, and move the other away."
        )


def _line(run: Run, done: Done, draft: _Draft) -> RunLine:
    source = Source(drawing=done.drawing, provenance=done.provenance)
    # The same files may have been found in several places; the name says what they held, not where they lay.
    parts = [done.drawing.sha256, *(f"{file.file} {file.sha256} {file.verified}" for file in done.provenance)]
    task = task_of(run.data)
    name = f"{task}-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:8]}"
    draft.sources.setdefault(name, source)
    return RunLine(
        key=run.key, task=task, status="finished", epochs=done.epochs, seconds=round(done.seconds, 3), host=done.host,
        version=done.version, contract=done.contract, verified=done.verified, source=name, seed=run.seed,
        data=own_settings(run.data), model=own_settings(run.model), train=own_settings(run.train),
    )  # fmt: skip


def _write(draft: _Draft, runs: Path) -> None:
    """Networks first and rows last: whenever this is cut off, what is there is true, and a second call completes it."""
    path = draft.record.path
    for line in draft.lines.values():
        run_of(line)  # refuses a line that cannot be read back
    tasks: dict[str, list[Row]] = {}
    for row in draft.rows.values():
        tasks.setdefault(row.task, []).append(row)
    contents = {
        **draft.files,
        path / SOURCES: (Sources(sources=draft.sources).model_dump_json(indent=1) + "\n").encode(),
        **({path / TABLE: summaries_text(draft.summaries.values()).encode()} if draft.summaries else {}),
        path / RUNS: runs_text(draft.lines.values()).encode(),
        **{path / ROWS / f"{task}.csv": rows_text(rows, draft.lines).encode() for task, rows in sorted(tasks.items())},
    }
    told = {name: about for file in sorted(runs.rglob(ABOUT)) for name, about in abouts_in(file.parent).items()}
    # Version 0.1 kept nothing beside its rows: what the catalogue knows of its experiments is added.
    unknown = {row.experiment for row in draft.rows.values()} - told.keys() - abouts_in(path).keys()
    told |= {name: experiment.about() for name, experiment in EXPERIMENTS.items() if name in unknown}
    describe(path, told.values())
    for file, content in contents.items():
        if not file.is_file() or _bytes(file) != content:
            disk.save(file, content)
    for file in draft.gone - contents.keys():  # the state of a long training has the name of the unfinished one
        file.unlink(missing_ok=True)
