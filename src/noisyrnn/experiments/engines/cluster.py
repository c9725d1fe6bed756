"""Ray Core, on this machine or on a cluster that somebody runs: `pip install noisyrnn[ray]`.

The directory of runs must be one that all machines see under the same name, such as a network disk.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from pydantic import Field

from noisyrnn.experiments.engines.protocol import RETRIES, Answer, Lost, Work
from noisyrnn.setting import Setting

_PATIENCE = 10.0  # seconds


class Ray(Setting):
    """Jobs as tasks of Ray, one thread each: on ``workers`` processes here, or on the cluster at ``address``."""

    workers: int = Field(default=2, ge=1, le=1024)
    address: str | None = None
    retries: int = Field(default=RETRIES, ge=0, le=1000)

    @property
    def local(self) -> bool:
        return False

    def __call__(self, work: Callable[[Work], Answer], jobs: Sequence[Work]) -> Iterator[Answer | Lost]:
        try:
            import ray
        except ImportError as error:
            raise ValueError("The engine ray is not installed: pip install 'noisyrnn[ray]'.") from error
        ours = not ray.is_initialized()
        if ours:
            self._start(ray)
        try:
            task: Any = ray.remote(num_cpus=1, max_retries=self.retries)(_one_thread)
            flying = {task.remote(work, job): job for job in jobs}
            while flying:
                [ready], _ = ray.wait(list(flying), num_returns=1)
                job = flying.pop(ready)
                try:
                    yield ray.get(ready)
                except ray.exceptions.RayError as error:
                    yield Lost(job, f"Ray says {type(error).__name__}")
        finally:
            if ours:
                ray.shutdown()

    def _start(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if self.address is None:
                ray.init(num_cpus=self.workers, include_dashboard=False, **quiet)
            else:
                _knock(self.address)
                ray.init(address=self.address, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            where = f"at {self.address}" if self.address else "on this machine"
            raise ValueError(f"There is no Ray {where} ({str(error).splitlines()[0]}); check the address.") from error


def _knock(address: str) -> None:
    """Nothing, if somebody listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _one_thread(work: Callable[[Work], Answer], job: Work) -> Answer:
    torch.set_num_threads(1)
    return work(job)
