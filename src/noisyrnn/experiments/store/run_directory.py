"""A run's directory: what lies in it, and why nobody's late writing can harm it.

OUT/<key>/spec.json                the run
OUT/<key>/claim-3                  somebody has begun to work here for the third time
OUT/<key>/state-3.safetensors      the latest state that the third claim has saved
OUT/<key>/branch-3.safetensors     its state before its latest decay
OUT/<key>/DONE                     training is over: epochs, seconds, data; the files that count, with their sha256
OUT/<key>/rows-3.jsonl             what the third claim has measured
OUT/<key>/theory.json              what the theorems say of the network, where that was asked
OUT/<key>/lease, progress.json     who is at work and how far, while somebody is (``store.lease``)

Whoever begins takes a new number, and writes only files that carry it. A runner that was suspended, taken for dead and
woke up again goes on writing files that nobody reads: DONE is made once, by the first to finish, and only the network
that it names is ever measured. Version 0.1 had no numbers: its files count as those of claim 0.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from noisyrnn import disk
from noisyrnn.checkpoint import Checkpoint, CheckpointError, load
from noisyrnn.data.split import Drawing, Provenance
from noisyrnn.experiments.spec import Run
from noisyrnn.rows import Row, distinct, rows_in
from noisyrnn.setting import Setting

DONE, SPEC, CLAIM = "DONE", "spec.json", "claim"
_OLD = {"state": "checkpoint.safetensors", "branch": "branch.safetensors", "rows": "rows.jsonl"}  # of version 0.1
_ABANDONED = 24 * 3600.0  # seconds after which a half-written file has no writer any more


class NamedFile(Setting):
    """A file of the directory and the sha256 of its content."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Done(Setting):
    """What is known of a finished training, and which files hold it: "network", and "branch" if there is one."""

    epochs: int = Field(ge=1)
    seconds: float = Field(ge=0)
    host: str
    version: str
    contract: int = 1
    drawing: Drawing
    provenance: tuple[Provenance, ...]
    remark: str | None = None
    files: dict[str, NamedFile] = Field(default={})

    @property
    def verified(self) -> bool:
        """Whether every file of the data had the checksum that is known of it."""
        return all(file.verified for file in self.provenance)


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run."""

    path: Path

    @classmethod
    def of(cls, run: Run, directory: Path) -> RunDirectory:
        return cls(directory / run.key)

    @property
    def key(self) -> str:
        return self.path.name

    def spec(self) -> Run:
        """The run; ValueError where there is none that this version understands."""
        remedy = "run it again in another directory, or use the version that wrote it"
        run = disk.read_as(Run, self.path / SPEC, what="the settings of a run that this version knows", remedy=remedy)
        if run.key != self.key:
            raise disk.DamagedFile(f"{self.path / SPEC} belongs to the run {run.key}: move it to that directory.")
        return run

    def done(self) -> Done | None:
        """What DONE says; None while training is not over."""
        remedy = "remove it, and the run goes on from its latest state"
        try:
            return disk.read_as(Done, self.path / DONE, what="the record of a finished run", remedy=remedy)
        except FileNotFoundError:
            return None

    def rows(self) -> list[Row]:
        """Every cell once, whoever measured it; lines that a killed writer has torn are left out."""
        found: list[Row] = []
        for path in self.numbered("rows", ".jsonl"):
            found += rows_in(path)[0] if path.name != _OLD["rows"] else self._rows_of_version_0_1(path)
        return list(distinct(found).rows)

    def _rows_of_version_0_1(self, path: Path) -> list[Row]:
        from noisyrnn.experiments.store.version_0_1 import rows_of_version_0_1

        return rows_of_version_0_1(path, self.spec(), self.done())

    def network(self, done: Done) -> Checkpoint | None:
        """The network that DONE names, verified; None where it was not kept."""
        named = done.files.get("network")
        path = self.path / (named.name if named else _OLD["state"])
        if not path.exists():
            return None
        try:
            return load(path, sha256=None if named is None else named.sha256)
        except CheckpointError as error:
            raise CheckpointError(
                f"{error} As long as {self.path / DONE} names it, nothing is measured: put the file back, or remove "
                f"{self.path} to train again."
            ) from error

    def branch(self, done: Done) -> Path | None:
        """The state before the latest decay, if it was kept."""
        path = self.path / (done.files["branch"].name if "branch" in done.files else _OLD["branch"])
        return path if path.exists() else None

    def states(self) -> list[Path]:
        """Saved states, of which a run may go on or a sister run begin: those that DONE names, or all of them."""
        done = self.done()
        if done is not None and done.files:
            return [self.path / file.name for file in done.files.values() if (self.path / file.name).exists()]
        return [*self.numbered("state", ".safetensors"), *self.numbered("branch", ".safetensors")]

    def write(self, name: str, value: BaseModel) -> None:
        """A small file of the directory, replaced as a whole."""
        disk.save(self.path / name, as_json(value))

    def tidy(self) -> None:
        """Nothing left of processes that died long ago, nor of who was at work once a run is complete."""
        for left in self.path.glob(".*"):
            try:
                if time.time() - left.lstat().st_mtime > _ABANDONED:
                    left.unlink()
            except OSError:
                continue

    def numbered(self, kind: str, ending: str) -> list[Path]:
        """Files of a kind in the order of their claims."""
        found = [path for path in self.path.glob(f"{kind}-*{ending}") if claim_number(path) > 0]
        old = self.path / _OLD[kind]
        return ([old] if old.exists() else []) + sorted(found, key=claim_number)


def directories(directory: Path) -> list[RunDirectory]:
    """Every run directly below a directory."""
    return [RunDirectory(spec.parent) for spec in sorted(directory.glob(f"*/{SPEC}"))]


def sisters(run: Run, directory: Path) -> list[RunDirectory]:
    """Runs that differ in their training alone, perhaps in later epochs only."""
    found = []
    for other in directories(directory):
        try:
            spec = other.spec()
        except ValueError:
            continue  # not of this version; nothing to take over
        if other.key != run.key and (spec.data, spec.model, spec.seed) == (run.data, run.model, run.seed):
            found.append(other)
    return found


def as_json(value: BaseModel) -> bytes:
    """The value as indented JSON that a person can read."""
    return (json.dumps(value.model_dump(mode="json"), indent=1, ensure_ascii=False, sort_keys=False) + "\n").encode()


def claim_number(path: Path) -> int:
    """The claim in a file's name; 0 where there is none."""
    digits = path.name.partition("-")[2].partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
