"""Notes: where a run stands, in a small file of its directory, for whoever looks on from another process."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from noisyrnn.checkpoint import CheckpointError
from noisyrnn.experiments.place import write_json

NOTE = "progress.json"
_PAUSE, _FRESH = 2.0, 120.0  # seconds: between two notes, and until one is taken for that of a dead process


class Standing(NamedTuple):
    """A run, what it does, and how much of that is done."""

    run: str
    text: str
    done: int
    total: int


class Note:
    """Called with text, done and total as often as one likes; writes every other second.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     note = Note(Path(directory, "run"), "lipschitz, seed 0")
    ...     note("epoch 1 of 2", 3, 10)
    ...     standings(Path(directory))
    ...     note.gone()
    ...     standings(Path(directory))
    [Standing(run='lipschitz, seed 0', text='epoch 1 of 2', done=3, total=10)]
    []
    """

    def __init__(self, place: Path, run: str) -> None:
        self.path, self.run = place / NOTE, run
        self._last = -_PAUSE

    def __call__(self, text: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            # Training must not end because a note cannot be written.
            with suppress(CheckpointError):
                write_json(self.path, Standing(self.run, text, done, total)._asdict())

    def gone(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def standings(directory: Path) -> list[Standing]:
    """What is under way below a directory, as far as notes tell."""
    found = []
    for path in sorted(directory.glob(f"*/{NOTE}")):
        with suppress(OSError, ValueError, TypeError):
            if time.time() - path.stat().st_mtime < _FRESH:
                found.append(Standing(**json.loads(path.read_bytes())))
    return found
