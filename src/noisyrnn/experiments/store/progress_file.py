"""Where a run stands, in a small file of its directory, for whoever looks on from another process."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from noisyrnn.disk import UnwritableFile, read_as, save
from noisyrnn.setting import Setting

PROGRESS = "progress.json"
_PAUSE, _FRESH = 2.0, 120.0  # seconds: between two writings, and until one is taken for that of a dead process


class Progress(Setting):
    """A run, what it does, and how much of that is done."""

    run: str
    text: str
    done: int = Field(ge=0)
    total: int = Field(ge=0)


class ProgressFile:
    """Called with text, done and total as often as one likes; writes every other second.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     progress = ProgressFile(Path(directory, "run"), "lipschitz, seed 0")
    ...     progress("epoch 1 of 2", 3, 10)
    ...     under_way(Path(directory))
    ...     progress.remove()
    ...     under_way(Path(directory))
    [Progress(run='lipschitz, seed 0', text='epoch 1 of 2', done=3, total=10)]
    []
    """

    def __init__(self, directory: Path, run: str) -> None:
        self.path, self.run = directory / PROGRESS, run
        self._last = -_PAUSE

    def __call__(self, text: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            # Training must not end because this file cannot be written.
            with suppress(UnwritableFile):
                save(self.path, Progress(run=self.run, text=text, done=done, total=total).model_dump_json().encode())

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def under_way(directory: Path) -> list[Progress]:
    """What is under way below a directory, as far as these files tell; a damaged one tells nothing."""
    found = []
    for path in sorted(directory.glob(f"*/{PROGRESS}")):
        with suppress(OSError, ValueError):
            if time.time() - path.stat().st_mtime < _FRESH:
                found.append(read_as(Progress, path, what="the progress of a run", remedy="remove it"))
    return found
