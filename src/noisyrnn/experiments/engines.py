"""Engines: how the tasks of an experiment are worked through.

An engine is called with a function and tasks, and yields results as they come, in any order. Function and tasks can be
pickled, and a task's directory is its only output, so an engine that sends them to a cluster needs nothing more.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from pydantic import Field

from noisyrnn.setting import Setting

_WATCH = "noisyrnn-parent"
_GLANCE = 1.0
_GRACE = 10.0  # seconds: many batches, so that the second signal does not cut off the writing of a checkpoint

Task = TypeVar("Task")
Result = TypeVar("Result")


@runtime_checkable
class Engine(Protocol):
    """Anything that applies a function to tasks; ``local`` where it does so in this process, one by one."""

    @property
    def local(self) -> bool: ...

    def __call__(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]: ...


class Serial(Setting):
    """One task after the other, in this process, with as many threads as torch has.

    >>> list(Serial()(abs, [-1, 2]))
    [1, 2]
    """

    @property
    def local(self) -> bool:
        return True

    def __call__(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        for task in tasks:
            yield work(task)


class Joblib(Setting):
    """``workers`` processes with one thread each, which for networks of this size is what uses a machine best."""

    workers: int = Field(default=2, ge=1)

    @property
    def local(self) -> bool:
        return False

    def __call__(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(n_jobs=self.workers, return_as="generator_unordered")
            results: Any = parallel(delayed(_single)(work, task) for task in tasks)
            yield from results


def _single(work: Callable[[Task], Result], task: Task) -> Result:
    torch.set_num_threads(1)
    if all(thread.name != _WATCH for thread in threading.enumerate()):
        threading.Thread(target=_leave_with, args=(os.getppid(),), name=_WATCH, daemon=True).start()
    return work(task)


def _leave_with(parent: int) -> None:
    """A worker whose parent has died goes too, instead of working on unseen for hours; training saves its state first.

    The signal is sent again because the pool survives what the first one raises, and then waits for a parent in vain.
    """
    while True:
        time.sleep(_GLANCE)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_GRACE)
