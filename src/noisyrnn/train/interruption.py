"""Ctrl-C and SIGTERM, held back until the batch is done, so that a checkpoint can be written first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Asked:
    """Which signal has come, if any."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    def leave(self) -> None:
        """The exception that the signal would have raised, if one has come."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise SystemExit(128 + self.signal)


@contextmanager
def held_back(wanted: bool) -> Iterator[Asked]:
    """The first signal is noted, the next acts at once; handlers that somebody else has set are left alone.

    >>> with held_back(True) as asked:
    ...     bool(asked)
    False
    """
    asked = Asked()

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.signal = number

    ours: list[int] = []
    # Only the main thread may set handlers; elsewhere the checkpoint of the last epoch has to do.
    if wanted and threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            ours.append(signal.SIGINT)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            ours.append(signal.SIGTERM)
    for number in ours:
        signal.signal(number, note)
    try:
        yield asked
    finally:
        for number in ours:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
