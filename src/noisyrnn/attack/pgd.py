"""Projected gradient ascent (Madry, Makelov, Schmidt, Tsipras, Vladu 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Adversary
from noisyrnn.attack.ascent import Network
from noisyrnn.attack.ball import direction, even_offsets, projection
from noisyrnn.setting import Norm

_P = TypeVar("_P", bound="PGD")


class Keep(StrEnum):
    """Which iterate is returned: the worst of each sample, the clean one among them, or the last."""

    WORST = "worst"
    LAST = "last"


class PGD(Adversary):
    """Projected gradient ascent on the ball, for each sample the worst point over all restarts and steps.

    The step is ``step`` or else 2.5 radius / steps, which can cross the ball. Random starts are uniform.

    >>> attack = PGD(radius=0.5, norm=Norm.L2, steps=5)
    >>> x = torch.zeros(1, 2, 2)
    >>> found = attack(lambda x: x[:, -1] * x.new_tensor([1, -1]), x, torch.tensor([0]), torch.Generator())
    >>> bool((found - x).norm() <= 0.5 + 1e-6)
    True
    """

    kind: Literal["pgd"] = "pgd"
    norm: Norm = Norm.LINF
    steps: int = Field(default=40, ge=1)
    step: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    restarts: int = Field(default=1, ge=1)
    random_start: bool = True
    keep: Keep = Keep.WORST

    @model_validator(mode="after")
    def _restarts_differ(self: _P) -> _P:
        if self.restarts > 1 and not self.random_start:
            raise ValueError(f"{self.restarts} restarts need random_start=True: without it they are all the same.")
        return self

    @override
    def _found(self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None) -> Tensor:
        worst, gained = x.clone(), x.new_full((len(x),), -torch.inf)
        if self.keep is Keep.WORST:
            gained = self._gain(network, x, y)
        for start in self._starts(x, generator):
            for point, gain in self._candidates(network, x, y, start):
                better = gain > gained
                worst = torch.where(better[:, None, None], point, worst)
                gained = torch.where(better, gain, gained)
        return worst

    def _candidates(self, network: Network, x: Tensor, y: Tensor, start: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        step = 2.5 * self.radius / self.steps if self.step is None else self.step
        point = start
        for _ in range(self.steps):
            slope, gain = self._ascent(network, point, y)
            if self.keep is Keep.WORST:
                yield point, gain
            point = point + step * direction(slope, self.norm)
            point = self._inside(projection(point, x, self.radius, self.norm))
        yield point, self._gain(network, point, y)

    def _starts(self, x: Tensor, generator: torch.Generator | None) -> list[Tensor]:
        if not self.random_start:
            return [x]
        if generator is None:
            raise ValueError("A random start needs a torch.Generator: give one, or set random_start=False.")
        offsets = self.radius * even_offsets(x, self.restarts, self.norm, generator)
        near = x[:, None] + offsets.to(x.dtype)
        return [self._inside(projection(start, x, self.radius, self.norm)) for start in near.unbind(1)]
