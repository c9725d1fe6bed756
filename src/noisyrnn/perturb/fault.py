"""What perturbations have in common: they are called, have a level, and clamp where bounds are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from noisyrnn.setting import Setting
from noisyrnn.types import Lengths, Sequence

Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]

_F = TypeVar("_F", bound="Fault")
_R = TypeVar("_R", bound="Ranged")


class Fault(Setting, ABC):
    """A perturbation: frozen, keyword-only, and called as ``fault(x, generator)``."""

    strength: ClassVar[str] = "sigma"
    """Name of the field that a curve over levels varies."""

    bounds: tuple[Finite, Finite] | None = None

    @model_validator(mode="after")
    def _ordered(self: _F) -> _F:
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"bounds are (low, high) with low < high, got {self.bounds}.")
        return self

    @property
    def level(self) -> float:
        """Value of the field that measures the strength; at 0 the sequence is left as it is."""
        return float(getattr(self, self.strength))

    def at(self: _F, level: float) -> _F:
        """The same perturbation at another level.

        >>> from noisyrnn.perturb import White
        >>> White(sigma=0.1).at(0.3)
        White(bounds=None, kind='white', sigma=0.3)
        """
        return type(self)(**{**self.model_dump(), self.strength: level})

    def __call__(self, x: Sequence, generator: torch.Generator, *, lengths: Lengths | None = None) -> Sequence:
        """x~, a new tensor with the shape, precision and device of x; what lies beyond ``lengths`` stays as it is."""
        if x.ndim != 3 or not x.is_floating_point():
            raise ValueError(
                f"Perturbations take floating point x of shape (batch, time, feature), "
                f"got {x.dtype} of shape {tuple(x.shape)}; add the missing axis or convert with x.float()."
            )
        if lengths is not None and lengths.shape != x.shape[:1]:
            raise ValueError(f"lengths must name one length per sample, {len(x)}, got shape {tuple(lengths.shape)}.")
        faulty = self._within(x, generator, lengths).to(x.dtype)
        faulty = faulty if self.bounds is None else faulty.clamp(*self.bounds)
        return faulty if lengths is None else torch.where(valid(x, lengths), faulty, x)

    def _within(self, x: Tensor, generator: torch.Generator, lengths: Tensor | None) -> Tensor:
        """x~ where there is data; faults that know of no time, or of the past only, need no lengths."""
        return self._faulty(x, generator)

    @abstractmethod
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor: ...


class Ranged(Fault):
    """A fault that needs the range of the data: given, or else taken from the x of the call."""

    low: Finite | None = None
    high: Finite | None = None

    @model_validator(mode="after")
    def _range(self: _R) -> _R:
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"The range of the data needs low < high, got low={self.low}, high={self.high}.")
        return self

    @override
    def _within(self, x: Tensor, generator: torch.Generator, lengths: Tensor | None) -> Tensor:
        if lengths is None or not x.numel() or (self.low is not None and self.high is not None):
            return self._faulty(x, generator)
        low, high = self._limits(x[valid(x, lengths).expand_as(x)])
        return self.model_copy(update={"low": low, "high": high})._faulty(x, generator)

    def _limits(self, x: Tensor) -> tuple[float, float]:
        low = float(x.min()) if self.low is None else self.low
        high = float(x.max()) if self.high is None else self.high
        return low, high


class Timed(Fault, ABC):
    """A fault that depends on how long each series is."""

    @override
    def _within(self, x: Tensor, generator: torch.Generator, lengths: Tensor | None) -> Tensor:
        if not x.numel():
            return x.clone()
        steps = torch.full((len(x),), x.shape[1], device=x.device) if lengths is None else lengths.to(x.device)
        return self._timed(x, steps.clamp(min=1), generator)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return self._within(x, generator, None)

    @abstractmethod
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        """x~ of series with ``steps`` valid instants each, at least 1."""


def valid(x: Tensor, lengths: Tensor) -> Tensor:
    """(batch, time, 1): where there is data."""
    return (torch.arange(x.shape[1], device=x.device) < lengths.to(x.device)[:, None])[:, :, None]
