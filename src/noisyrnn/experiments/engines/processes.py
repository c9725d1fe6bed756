"""Several processes on this machine, by joblib's pool (loky): one thread each.

A worker that dies (out of memory, killed) takes the pool with it. Whoever was at work then is tried again alone, so
that the guilty job is found; it is given up after a few deaths, and all others go on.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import torch
from pydantic import Field

from noisyrnn.experiments.engines.protocol import RETRIES, Answer, Lost, Work
from noisyrnn.setting import Setting

_GLANCE = 1.0
_GRACE = 10.0  # seconds: many batches, so that the second signal does not cut off the writing of a checkpoint
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NOISYRNN_THREADS"), "1"
)


class Joblib(Setting):
    """``workers`` processes with one thread each, which for networks of this size is what uses a machine best."""

    workers: int = Field(default=2, ge=1, le=1024)
    retries: int = Field(default=RETRIES, ge=0, le=1000)

    @property
    def local(self) -> bool:
        return False

    def __call__(self, work: Callable[[Work], Answer], jobs: Sequence[Work]) -> Iterator[Answer | Lost]:
        from joblib.externals.loky import BrokenProcessPool

        waiting, suspects = deque((job, 0) for job in jobs), deque[tuple[Work, int]]()
        flying: dict[Future[Answer], tuple[Work, int]] = {}
        pool = self._pool()
        try:
            while waiting or suspects or flying:
                # After a death nobody else is at work, until it is clear who died.
                source, room = (suspects, 1) if suspects else (waiting, self.workers)
                while source and len(flying) < room:
                    job, deaths = source.popleft()
                    flying[pool.submit(work, job)] = job, deaths
                died: list[tuple[Work, int, BaseException]] = []
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    job, deaths = flying.pop(future)
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        died.append((job, deaths, error))
                    else:
                        yield future.result()
                if not died:
                    continue
                died += [(job, deaths, died[0][2]) for job, deaths in flying.values()]
                flying.clear()
                pool.shutdown(wait=False, kill_workers=True)
                pool = self._pool()
                for job, deaths, error in died:
                    guilty = len(died) == 1
                    if guilty and deaths >= self.retries:
                        yield Lost(job, _reason(error))
                    else:
                        suspects.append((job, deaths + guilty))
        except BaseException:
            _ask_to_leave(pool)
            raise
        # All have answered, and what they did is on the disk: nobody waits for two interpreters to unload torch.
        pool.shutdown(kill_workers=True)

    def _pool(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(self.workers, env=_ONE_THREAD, initializer=_begin, initargs=(os.getpid(),))


def _reason(error: BaseException) -> str:
    """What the pool knows of a dead worker, without its advice for programmers."""
    signals = str(error).rpartition("exit codes of the workers are")[2].strip(" {}.")
    return f"the process ended with {signals}" if signals else "the process ended without a word"


def _ask_to_leave(pool: Any) -> None:
    """SIGTERM, at which training saves its state, and the end only after a grace."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    for process in processes:
        process.terminate()
    end = time.monotonic() + _GRACE
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
    pool.shutdown(wait=False, kill_workers=True)


def _begin(parent: int) -> None:
    """A worker's first act. It is told who its parent is, because a parent may be dead before a worker can ask."""
    torch.set_num_threads(1)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """A worker whose parent has died goes too, instead of working on unseen for hours; training saves its state first.

    The signal is sent again because the pool survives what the first one raises, and then waits for a parent in vain.
    """
    while True:
        time.sleep(_GLANCE)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_GRACE)
