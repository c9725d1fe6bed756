"""Readings at the wrong time: a shift, a clock that is slow or fast."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Literal

import torch
from torch import Tensor
from typing_extensions import override

from noisyrnn.perturb.draws import signs
from noisyrnn.perturb.fault import Probability, Strength, Timed
from noisyrnn.perturb.readings import picked, read_at


class Shift(Timed):
    """x_{t - d} or x_{t + d}, d = round(share T), one or the other drawn: late or early; the ends are held.

    >>> Shift(share=0.5)(torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]), torch.Generator().manual_seed(0)).flatten()
    tensor([3., 4., 4., 4.])
    """

    strength: ClassVar[str] = "share"
    kind: Literal["shift"] = "shift"
    share: Probability

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        delay = (self.share * steps).round().long() * signs(x, (), generator).long()
        instant = torch.arange(x.shape[1], device=x.device) - delay[:, None]
        return picked(x, torch.minimum(instant.clamp(min=0), steps[:, None] - 1))


class _Rate(Timed, ABC):
    strength: ClassVar[str] = "change"
    change: Strength

    def _read(self, x: Tensor, steps: Tensor, speed: float) -> Tensor:
        instant = torch.arange(x.shape[1], device=x.device, dtype=torch.float32) * speed
        return read_at(x, instant.expand(len(x), -1), steps)


class Stretch(_Rate):
    """x(t / (1 + change)), linear between instants: everything takes longer, and the end is cut off; draws nothing.

    >>> Stretch(change=1.0)(torch.tensor([[[0.0], [1.0], [2.0]]]), torch.Generator()).flatten().tolist()
    [0.0, 0.5, 1.0]
    """

    kind: Literal["stretch"] = "stretch"

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        return self._read(x, steps, 1 / (1 + self.change))


class Compress(_Rate):
    """x(t (1 + change)), linear between instants: everything is over sooner, and the end is held; draws nothing.

    >>> Compress(change=1.0)(torch.tensor([[[0.0], [1.0], [2.0]]]), torch.Generator()).flatten().tolist()
    [0.0, 2.0, 2.0]
    """

    kind: Literal["compress"] = "compress"

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        return self._read(x, steps, 1 + self.change)
