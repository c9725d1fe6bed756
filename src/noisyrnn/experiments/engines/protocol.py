"""What an engine is: how the jobs of a sweep are worked through.

An engine is called with a function and jobs, and yields results as they come, in any order. Function and jobs can be
pickled, and a job's directory is its only output, so an engine that sends them to a cluster needs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

Work = TypeVar("Work")
Answer = TypeVar("Answer")

RETRIES = 2
"""How often a job is given to another process after its own has died."""


@dataclass(frozen=True)
class Lost:
    """A job without an answer: its process died, again and again, for this reason."""

    job: Any
    reason: str


@runtime_checkable
class Engine(Protocol):
    """Anything that applies a function to jobs; ``local`` where it does so in this process, one by one."""

    @property
    def local(self) -> bool: ...

    def __call__(self, work: Callable[[Work], Answer], jobs: Sequence[Work]) -> Iterator[Answer | Lost]: ...
