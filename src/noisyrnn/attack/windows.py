r"""Windows in time: how long, where, and the bumps with which an l2 search fills them.

    length = max(1, round(p T)),   p the share of T, halved as the search goes on
    bump(s) = sum_{k=0}^{M} 1 / (n + 1 - k)^2,   n = floor(length / 2),  M = n - |s - n - 1|,  s = 1 .. length

(Andriushchenko, Croce, Flammarion, Hein 2020, with windows of a series in place of squares of an image.)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.attack.case import Case

_HALVINGS = (10, 50, 200, 1000, 2000, 4000, 6000, 8000)  # of 10000 queries; other numbers are scaled


def window_share(first: float, query: int, queries: int) -> float:
    """p of a query: the first share, halved when 0.1, 0.5, 2, 10, 20, 40, 60 and 80 per cent of them are over.

    >>> window_share(0.8, 0, 1000), window_share(0.8, 30, 1000), window_share(0.8, 999, 1000)
    (0.8, 0.1, 0.003125)
    """
    return first / 2 ** sum(query * 10_000 > mark * queries for mark in _HALVINGS)


@dataclass(frozen=True, eq=False)
class Windows:
    """A window in each sample: ``place`` counts steps from its beginning, (batch, time), ``length`` is (batch, 1)."""

    place: Tensor
    length: Tensor

    @property
    def inside(self) -> Tensor:
        """(batch, time, 1): which steps lie in the window."""
        return ((self.place >= 0) & (self.place < self.length))[:, :, None]

    def bumps(self) -> Tensor:
        """A bump over each window, and 0 elsewhere, (batch, time, 1)."""
        half = self.length // 2
        peak = half - (self.place - half).abs()
        sums = torch.cat([torch.zeros(1), (1 / torch.arange(1, int(half.max()) + 2) ** 2).cumsum(0)]).to(half.device)
        high = sums[half + 1] - sums[(half - peak).clamp(min=0).minimum(half)]
        return torch.where(self.inside, high[:, :, None], 0.0)


def window_lengths(case: Case, share: float) -> Tensor:
    """Steps in a window of each sample, (batch, 1)."""
    return (share * case.steps).round().long().clamp(min=1)[:, None]


def windows(case: Case, length: Tensor, u: Tensor) -> Windows:
    """A window of each sample among its valid steps, where u in [0, 1), (batch,), says."""
    first = (u[:, None] * (case.steps[:, None] - length + 1)).floor().long()
    return Windows(torch.arange(case.x.shape[1], device=case.x.device) - first, length)


def tiles(case: Case, length: Tensor) -> tuple[Windows, Tensor]:
    """Windows side by side over all of each sample, as one, and the number of the window that a step is in."""
    time = torch.arange(case.x.shape[1], device=case.x.device)
    return Windows(time % length, length), time // length
