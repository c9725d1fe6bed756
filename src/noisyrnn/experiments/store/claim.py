"""Claims: who begins to work in a run's directory takes a number, and writes only files that carry it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from noisyrnn import disk
from noisyrnn.checkpoint import LARGEST, CheckpointError, load
from noisyrnn.experiments.spec import Run
from noisyrnn.experiments.store.run_directory import (
    CLAIM,
    DONE,
    SPEC,
    Done,
    NamedFile,
    RunDirectory,
    as_json,
    claim_number,
)
from noisyrnn.rows import Row
from noisyrnn.train import continued


def take_claim(directory: RunDirectory, run: Run) -> Claim:
    """A new number, taken by nobody else, and the run's settings beside it."""
    taken = list(directory.path.glob(f"{CLAIM}-*"))
    number = 1 + max(map(claim_number, taken), default=0)
    with disk.writing(directory.path):
        while not disk.create(directory.path / f"{CLAIM}-{number}", b""):
            number += 1
    for earlier in taken:  # the greatest stays, so that no number is taken twice
        earlier.unlink(missing_ok=True)
    if (directory.path / SPEC).exists():
        directory.spec()  # whoever reads it later must find it whole
    else:
        directory.write(SPEC, run)
    return Claim(directory, number)


@dataclass(frozen=True)
class Claim:
    """One beginning of work in a run's directory: the only one who writes files with its number."""

    directory: RunDirectory
    number: int

    @property
    def state(self) -> Path:
        return self._file("state", ".safetensors")

    @property
    def branch(self) -> Path:
        return self._file("branch", ".safetensors")

    @property
    def rows(self) -> Path:
        return self._file("rows", ".jsonl")

    def begin(self, run: Run, lent: list[Path]) -> None:
        """The furthest state from which this run can go on, of earlier claims or lent by sister runs, as our own."""
        for kind, own, others in (("state", self.state, lent), ("branch", self.branch, [])):
            if source := furthest(run, self.directory.numbered(kind, ".safetensors"), others):
                disk.save(own, disk.read(source, most=LARGEST))

    def finish(self, done: Done) -> None:
        """DONE, naming this claim's files, unless another was first; then what DONE does not name goes."""
        named = {"network": self.state, "branch": self.branch}
        files = {
            role: NamedFile(name=path.name, sha256=hashlib.sha256(disk.read(path, most=LARGEST)).hexdigest())
            for role, path in named.items()
            if path.exists()
        }
        told = done.model_copy(update={"files": files})
        with disk.writing(self.directory.path / DONE):
            first = disk.create(self.directory.path / DONE, as_json(told))
        if not first:
            self.state.unlink(missing_ok=True)
            self.branch.unlink(missing_ok=True)
            return
        for kind in ("state", "branch"):
            for path in self.directory.numbered(kind, ".safetensors"):
                if path not in named.values() and claim_number(path) < self.number:
                    path.unlink(missing_ok=True)

    def append(self, row: Row) -> None:
        """One more row, on the disk when this returns."""
        text = row.model_dump_json().encode() + b"\n"
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        with disk.writing(self.rows), os.fdopen(os.open(self.rows, flags, 0o666), "ab") as stream:
            whole = os.fstat(stream.fileno()).st_size
            try:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                os.truncate(self.rows, whole)  # a full disk may have taken a part of the line
                raise

    def _file(self, kind: str, ending: str) -> Path:
        return self.directory.path / f"{kind}-{self.number}{ending}"


def furthest(run: Run, own: list[Path], others: list[Path]) -> Path | None:
    """Of saved states the one that is furthest on the way of a run.

    A damaged state of its own is refused, because to begin again would throw work away; others' are passed over.
    """
    best: tuple[tuple[int, int], Path] | None = None
    for path in (*own, *others):
        try:
            record = load(path).header
        except CheckpointError:
            if path in own:
                raise
            continue
        at = continued(record, run.train, run.seed) if record.model == run.model else None
        if at is not None and (at.epoch, at.batch) > (best[0] if best else (0, 0)):
            best = (at.epoch, at.batch), path
    return best[1] if best else None
