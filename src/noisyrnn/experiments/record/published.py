"""A record, which is what a project publishes of its runs, as it lies on the disk, and how a run goes on from it.

RECORD/README.md                              how to read all this
RECORD/experiments.json                       title, text, printed numbers and claims of each experiment
RECORD/runs.csv, RECORD/rows/<task>.csv       the tables (``noisyrnn.record_tables``)
RECORD/sources.json                           which files the data came from, with their checksums
RECORD/theory.csv                             what the theorems say of published networks
RECORD/networks/<task>/<name>.safetensors     the weights, and what is needed to rebuild the network
RECORD/networks/<task>/<name>.state.safetensors   where a long training goes on (unfinished, or before its last decay)
"""

from __future__ import annotations

import difflib
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from noisyrnn import disk
from noisyrnn.checkpoint import LARGEST, CheckpointError, load_network
from noisyrnn.data.split import Drawing, Provenance
from noisyrnn.experiments.spec import Run
from noisyrnn.experiments.store.claim import take_claim
from noisyrnn.experiments.store.run_directory import DONE, Done, NamedFile, RunDirectory, as_json
from noisyrnn.record_tables import ROWS, RUNS, RunLine, rows_in_record, runs_in
from noisyrnn.rnn import Classifier
from noisyrnn.rows import Row
from noisyrnn.setting import Setting, sentence

SOURCES, NETWORKS = "sources.json", "networks"


class Source(Setting):
    """How samples were divided, and the files that they came from."""

    drawing: Drawing
    provenance: tuple[Provenance, ...]


class Sources(Setting):
    """Every source by its name."""

    sources: dict[str, Source] = Field(default={})


class Record:
    """A directory of published results.

    >>> Record("no/such/directory").runs()
    {}
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @property
    def exists(self) -> bool:
        return (self.path / RUNS).exists()

    def runs(self) -> dict[str, RunLine]:
        """All runs by their keys."""
        return _runs(self.path, _stamp(self.path))

    def rows(self) -> list[Row]:
        """All rows of finished runs."""
        return [row for rows in _rows(self.path, _stamp(self.path)).values() for row in rows]

    def sources(self) -> dict[str, Source]:
        """Where the data came from."""
        try:
            return disk.read_as(
                Sources, self.path / SOURCES, what="a list of data sources", remedy="restore it from a copy"
            ).sources
        except FileNotFoundError:
            return {}

    def names(self, task: str = "") -> list[str]:
        """Published networks, as task/name.

        >>> Record("no/such/directory").names()
        []
        """
        lines = [line for line in self.runs().values() if line.name and line.status == "finished"]
        named = [f"{line.task}/{line.name}" for line in lines if self.network_path(line).exists()]
        return sorted(name for name in named if name.startswith(f"{task}/" if task else ""))

    def line(self, name: str) -> RunLine:
        """The run of a published network, by task/name."""
        for line in self.runs().values():
            if name == f"{line.task}/{line.name}" and line.name:
                return line
        near = difflib.get_close_matches(name, self.names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one below {self.path / NETWORKS}."
        raise ValueError(f"{self.path} has no network {name!r}; {hint}")

    def run(self, name: str) -> Run:
        """Data, model, training and seed of a published network."""
        return run_of(self.line(name))

    def network(self, name: str) -> Classifier:
        """A published network, ready for use."""
        return load_network(self.network_path(self.line(name)))

    def network_path(self, line: RunLine) -> Path:
        return self.path / NETWORKS / line.task / f"{line.name}.safetensors"

    def state_path(self, line: RunLine) -> Path:
        return self.path / NETWORKS / line.task / f"{line.name}.state.safetensors"

    def states(self, run: Run) -> list[Path]:
        """Published states of runs that differ in their training alone: perhaps this run passes through one."""
        own = run.model_dump(exclude={"train"})
        found = []
        for line in self.runs().values():
            path = self.state_path(line)
            lent = line.name and line.seed == run.seed and path.exists()
            if lent and run_of(line).model_dump(exclude={"train"}) == own:
                found.append(path)
        return found

    def restore(self, run: Run, place: RunDirectory) -> None:
        """What the record has of a run, in its directory: as if it had been trained and measured there.

        Where the network is not published, only its rows are: if more is asked for, it is trained again.
        """
        line = self.runs().get(run.key)
        if line is None:
            return
        claim = take_claim(place, run)
        state, network = self.state_path(line), self.network_path(line)
        if line.status == "unfinished":
            if line.name and state.exists():
                disk.save(claim.state, disk.read(state, most=LARGEST))
            return
        files: dict[str, NamedFile] = {}
        kept = {"network": (network, claim.state), "branch": (state, claim.branch)} if line.name else {}
        for role, (source, target) in kept.items():
            if source.exists():
                content = disk.read(source, most=LARGEST)
                disk.save(target, content)
                files[role] = NamedFile(name=target.name, sha256=hashlib.sha256(content).hexdigest())
        for row in _rows(self.path, _stamp(self.path)).get(run.key, ()):
            claim.append(row)
        if "network" in files:
            disk.create(place.path / DONE, as_json(self._done(line, files)))

    def _done(self, line: RunLine, files: dict[str, NamedFile]) -> Done:
        source = self.sources().get(line.source)
        if source is None:
            raise disk.DamagedFile(f"{self.path / SOURCES} has no source {line.source!r}: restore it from a copy.")
        about: dict[str, Any] = {
            name: getattr(line, name) for name in ("epochs", "seconds", "host", "version", "contract")
        }
        return Done(**about, drawing=source.drawing, provenance=source.provenance, files=files)


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes when a table does: the tables of a record are read once for many runs."""
    tables = [path / RUNS, *sorted((path / ROWS).glob("*.csv"))]
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in tables if file.exists())


@lru_cache(maxsize=4)
def _runs(path: Path, stamp: tuple[tuple[str, int, int], ...]) -> dict[str, RunLine]:
    return runs_in(path)


@lru_cache(maxsize=4)
def _rows(path: Path, stamp: tuple[tuple[str, int, int], ...]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows_in_record(path):
        found.setdefault(row.key, []).append(row)
    return found


def run_of(line: RunLine) -> Run:
    """The run of a line; its key must be what the line says, or the table was altered."""
    try:
        run = Run.model_validate({"data": line.data, "model": line.model, "train": line.train, "seed": line.seed})
    except ValidationError as error:
        reason = sentence(error, Run)
        raise disk.DamagedFile(f"The run {line.key} has settings that this version does not know: {reason}") from error
    if run.key != line.key:
        raise disk.DamagedFile(
            f"The settings of the run {line.key} belong to {run.key}: {RUNS} was altered; restore it from a copy."
        )
    return run


def load(path_or_name: Path | str, *, record: Path | str = "results") -> Classifier:
    """A ready network, in evaluation mode: from a checkpoint, or from a record by its name.

    Parameters
    ----------
    path_or_name
        A file that this library wrote, or ``task/name`` as in the record's directory ``networks``, for example
        ``"ordered-mnist/noisy-0.02-0.05-100-epochs-seed-0"``.
    record
        The published record that names are looked up in.

    Examples
    --------
    >>> load("no/such/network")
    Traceback (most recent call last):
    noisyrnn.checkpoint.CheckpointError: There is no checkpoint no/such/network, and results has no network...
    """
    path = Path(path_or_name)
    if path.exists():
        return load_network(path)
    found = Record(record)
    try:
        return found.network(str(path_or_name))
    except ValueError as error:
        if isinstance(error, CheckpointError | disk.DamagedFile):
            raise
        raise CheckpointError(f"There is no checkpoint {path_or_name}, and {error!s}") from error
