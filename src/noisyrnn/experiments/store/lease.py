"""Leases: who works on a run, so that several runners can share a directory without doing the same work twice.

A lease is filelock's: a marker that its holder refreshes every few seconds and that anybody may take over once it has
seen no refresh for two minutes of its own clock. It saves double work and nothing more: a holder that was suspended
wakes up and goes on. What keeps its late writing from harm are the names of the files (``store.run_directory``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import LeaseSettingsMismatch, SoftFileLease, Timeout

from noisyrnn.disk import writing

MARKER = "lease"
DURATION = float(os.environ.get("NOISYRNN_LEASE_SECONDS", "120"))
"""Seconds without a sign of life after which a run may be taken over; everybody who shares a directory must agree."""


class LeaseLost(ValueError):
    """Another runner took over, because this one seemed dead."""


class Lease:
    """The right to work in one run's directory; ``check`` as often as one likes."""

    def __init__(self, directory: Path, lock: SoftFileLease) -> None:
        self.directory, self._lock = directory, lock

    def check(self) -> None:
        """Nothing, while the lease is ours."""
        if self._lock.compromise is not None:
            raise LeaseLost(
                f"{self.directory} was taken over by another runner, because this one gave no sign of life for "
                f"{DURATION:g} seconds: let the other finish."
            )


@contextmanager
def hold_lease(directory: Path, *, watch: bool = False) -> Iterator[Lease | None]:
    """The lease of a run's directory, or None while another runner holds it.

    With ``watch``, a holder has to show a sign of life; one that shows none for the whole duration loses the run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with hold_lease(Path(directory)) as mine, hold_lease(Path(directory)) as theirs:
    ...         mine is not None, theirs is None
    (True, True)
    """
    try:
        with writing(directory):
            directory.mkdir(parents=True, exist_ok=True)
            lock = SoftFileLease(directory / MARKER, lease_duration=DURATION, heartbeat_interval=DURATION / 12)
            ours = _acquired(lock) or (watch and _taken_over(lock, directory / MARKER))
    except LeaseSettingsMismatch as error:
        raise ValueError(
            f"{directory} is held under another lease time: set NOISYRNN_LEASE_SECONDS alike for all who share it."
        ) from error
    if not ours:
        yield None
        return
    try:
        yield Lease(directory, lock)
    finally:
        lock.release()


def _acquired(lock: SoftFileLease) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def _taken_over(lock: SoftFileLease, marker: Path) -> bool:
    """Whether the lease became ours before its holder showed a sign of life."""
    seen, began = _stamp(marker), time.monotonic()
    while time.monotonic() - began < 1.5 * DURATION:
        time.sleep(DURATION / 100)
        if _acquired(lock):
            return True
        now = _stamp(marker)
        if now is not None and seen is not None and now != seen:
            return False
        seen = now
        # Who was killed before it could write its name left an empty marker, which filelock takes over from nobody.
        # That of somebody who was only stopped there costs double work at worst.
        if now is not None and now.size == 0 and time.monotonic() - began > DURATION / 12:
            marker.unlink(missing_ok=True)
    return False


class _Stamp(NamedTuple):
    """What changes when somebody writes or refreshes a marker."""

    inode: int
    refreshed: int
    size: int


def _stamp(marker: Path) -> _Stamp | None:
    try:
        about = marker.stat()
    except OSError:
        return None
    return _Stamp(about.st_ino, about.st_mtime_ns, about.st_size)
