"""Projected gradient ascent (Madry, Makelov, Schmidt, Tsipras, Vladu 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Budget
from noisyrnn.attack.ball import direction
from noisyrnn.attack.case import Case
from noisyrnn.attack.climber import Climber
from noisyrnn.setting import Added


class Keep(StrEnum):
    """Which iterate is returned: the worst of each sample, the clean one among them, or the last."""

    WORST = "worst"
    LAST = "last"


class Schedule(StrEnum):
    """How long the steps are: all the same, or falling evenly from the first to 0."""

    CONSTANT = "constant"
    FALLING = "falling"


class PGD(Climber):
    """Projected gradient ascent on the ball, for each sample the worst point over all restarts and steps.

    A constant step is ``step`` or else 2.5 radius / steps, which can cross the ball; a falling one begins at ``step``
    or else 2 radius, the width of the ball. Random starts are uniform. Use ``schedule=Schedule.FALLING``: on the
    recurrent networks that were measured (docs/attacks.md) it is the stronger for the same number of steps. The
    constant one is the default because published rows were made with it.

    >>> from noisyrnn.setting import Norm
    >>> attack = PGD(radius=0.5, norm=Norm.L2, steps=5)
    >>> x = torch.zeros(1, 2, 2)
    >>> found = attack(lambda x: x[:, -1] * x.new_tensor([1, -1]), x, torch.tensor([0]), torch.Generator())
    >>> bool((found - x).norm() <= 0.5 + 1e-6)
    True
    """

    kind: Literal["pgd"] = "pgd"
    steps: int = Field(default=40, ge=1, le=100_000)
    step: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    keep: Keep = Keep.WORST
    schedule: Annotated[Schedule, Added("0.2")] = Schedule.CONSTANT

    @property
    @override
    def budget(self) -> Budget:
        clean = 1 if self.keep is Keep.WORST else 0
        return Budget(clean + self.restarts * (self.steps + 1), self.restarts * self.steps) * self.passes

    @override
    def _found(self, case: Case) -> Tensor:
        worst, gained = case.x.clone(), case.x.new_full((len(case),), -torch.inf)
        if self.keep is Keep.WORST:
            gained = self._gain(case, case.x)
        for start in self._starts(case):
            for point, gain in self._candidates(case, start):
                better = gain > gained
                worst = torch.where(better[:, None, None], point, worst)
                gained = torch.where(better, gain, gained)
        return worst

    def _candidates(self, case: Case, start: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        point = start
        for number in range(self.steps):
            slope, _, gain = self._ascent(case, point)
            if self.keep is Keep.WORST:
                yield point, gain
            point = self._nearest(case, point + self._step(number) * direction(slope, self.norm))
        yield point, self._gain(case, point)

    def _step(self, number: int) -> float:
        if self.schedule is Schedule.CONSTANT:
            return 2.5 * self.radius / self.steps if self.step is None else self.step
        return (2 * self.radius if self.step is None else self.step) * (1 - number / self.steps)
