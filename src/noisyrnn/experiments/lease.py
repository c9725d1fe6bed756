"""Leases: one file a run says who works on it, so that several runners can share a directory.

A lease names its owner's machine and process and is touched every few seconds. It ends when it is given back, when its
process is gone from this machine, or when it has not been touched for two minutes.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock

from noisyrnn.checkpoint import CheckpointError, write_whole

_BEAT, _PATIENCE = 10.0, 120.0  # seconds


class LeaseLost(ValueError):
    """Another runner took over, because this one seemed dead."""


class Lease:
    """The right to work in one run's directory, while the ``with`` block lasts.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with taken(Path(directory)) as lease:
    ...         taken(Path(directory)) is None
    True
    """

    def __init__(self, path: Path, token: str, beat: float) -> None:
        self.path, self.token, self.beat = path, token, beat
        self._over = threading.Event()
        self._lost = False
        self._heart = threading.Thread(target=self._touch, daemon=True)

    def __enter__(self) -> Lease:
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._heart.join()
        with _alone(self.path.parent):
            if _held(self.path).get("token") == self.token:
                self.path.unlink(missing_ok=True)

    def check(self) -> None:
        """Nothing, while the lease is ours."""
        if self._lost:
            raise LeaseLost(
                f"{self.path.parent} was taken over by another runner, because this one gave no sign of life for "
                f"{_PATIENCE:g} seconds: let the other finish."
            )

    def _touch(self) -> None:
        while not self._over.wait(self.beat):
            if _held(self.path).get("token") != self.token:
                self._lost = True
                return
            try:
                os.utime(self.path)
            except OSError:
                # A network disk may be away for a moment; the next beat tries again.
                continue


def taken(place: Path, *, beat: float = _BEAT, patience: float = _PATIENCE) -> Lease | None:
    """The lease of a run's directory, or None while another runner holds it."""
    path, token = place / "lease.json", uuid.uuid4().hex
    with _alone(place):
        if _alive(path, patience):
            return None
        held = {"token": token, "host": _host(), "pid": os.getpid(), "since": time.time()}
        write_whole(path, json.dumps(held).encode())
    return Lease(path, token, beat)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """A lock that the system gives back when its process dies: it guards the short moment of taking a lease."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place / ".lock")
        lock.acquire()
    except OSError as error:
        raise CheckpointError(
            f"{place} cannot be written ({error.strerror}): free space or choose another directory; "
            "earlier results are intact."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _held(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_bytes())
    except (OSError, json.JSONDecodeError):
        return {}


def _alive(path: Path, patience: float) -> bool:
    held = _held(path)
    if not held:
        return False
    try:
        silent = time.time() - path.stat().st_mtime
    except OSError:
        return False
    gone = held.get("host") == _host() and not _process_exists(int(held["pid"]))
    return not gone and silent < patience


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _host() -> str:
    """This machine, and within it this space of process numbers: containers on one machine count apart."""
    space = Path("/proc/self/ns/pid")
    return f"{platform.node()} {os.readlink(space) if space.exists() else ''}".strip()
