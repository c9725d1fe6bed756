"""What attacks of many steps share: the ball, where they start, and the way back into it."""

from __future__ import annotations

from abc import ABC
from typing import TypeVar

from pydantic import Field, model_validator
from torch import Tensor

from noisyrnn.attack.adversary import WhiteBox
from noisyrnn.attack.ball import even_offsets, projection
from noisyrnn.attack.case import Case
from noisyrnn.setting import Norm

_C = TypeVar("_C", bound="Climber")


class Climber(WhiteBox, ABC):
    """An attack that takes ``steps`` steps on the ball from each of ``restarts`` starts, uniform in it or at x."""

    norm: Norm = Norm.LINF
    steps: int = Field(ge=1, le=100_000)
    restarts: int = Field(default=1, ge=1, le=1000)
    random_start: bool = True

    @model_validator(mode="after")
    def _restarts_differ(self: _C) -> _C:
        if self.restarts > 1 and not self.random_start:
            raise ValueError(f"{self.restarts} restarts need random_start=True: without it they are all the same.")
        return self

    def _starts(self, case: Case) -> list[Tensor]:
        if not self.random_start:
            return [case.x]
        offsets = self.radius * even_offsets(case, self.restarts, self.norm)
        return [self._nearest(case, start) for start in (case.x[:, None] + offsets.to(case.x.dtype)).unbind(1)]

    def _nearest(self, case: Case, point: Tensor) -> Tensor:
        """The point of the ball within bounds that is taken for one outside; exact unless bounds cut an l2 ball."""
        return self._inside(case, projection(point, case.x, self.radius, self.norm))
