"""One job after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from noisyrnn.experiments.engines.protocol import Answer, Work
from noisyrnn.setting import Setting


class Serial(Setting):
    """One job after the other, in this process, with as many threads as torch has.

    >>> list(Serial()(abs, [-1, 2]))
    [1, 2]
    """

    @property
    def local(self) -> bool:
        return True

    def __call__(self, work: Callable[[Work], Answer], jobs: Sequence[Work]) -> Iterator[Answer]:
        for job in jobs:
            yield work(job)
