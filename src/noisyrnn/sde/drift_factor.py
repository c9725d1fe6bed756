r"""Drift factors d of the adaptive form h + d * f dt + g sqrt(dt) xi (the paper's Section C, last example).

A factor slows the drift down, for all units of a sample or for each. Where d -> 1 as dt -> 0 (``vanishes``) the scheme
converges as Euler-Maruyama does, which is the same step with d = 1. Random factors are training strategies (dropout,
stochastic depth); they are used with mean 1, so that the network without noise is d = 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from noisyrnn.types import Dt, State


class DriftFactor(ABC):
    """d(h, f, dt, uniforms): a factor on the drift, broadcastable to the state.

    >>> class Half(DriftFactor):
    ...     def __call__(self, h, f, dt, uniforms):
    ...         return torch.full_like(h[..., :1], 0.5)
    >>> Half().vanishes
    False
    """

    vanishes: ClassVar[bool] = False
    """Whether d -> 1 as dt -> 0."""

    @property
    def takes_uniforms(self) -> bool:
        """Whether d is random: then it gets one uniform number per unit."""
        return False

    @abstractmethod
    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor: ...


@dataclass(frozen=True)
class HutzenthalerJentzenKloeden(DriftFactor):
    """d = 1 / (1 + dt ||f||) (2012)."""

    vanishes: ClassVar[bool] = True

    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor:
        return 1 / (1 + dt * f.norm(dim=-1, keepdim=True))


@dataclass(frozen=True)
class LinearTaming(DriftFactor):
    """d = 1 / max(1, dt (c1 ||h|| + c2)): the paper's factor with the dt that it lacks."""

    c1: float
    c2: float
    vanishes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _at_least_zero(self)

    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor:
        return 1 / (dt * (self.c1 * h.norm(dim=-1, keepdim=True) + self.c2)).clamp(min=1)


@dataclass(frozen=True)
class AsPrinted(DriftFactor):
    """d = 1 / max(1, c1 ||h|| + c2): as the paper prints it; it does not tend to 1 with dt."""

    c1: float
    c2: float

    def __post_init__(self) -> None:
        _at_least_zero(self)

    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor:
        return 1 / (self.c1 * h.norm(dim=-1, keepdim=True) + self.c2).clamp(min=1)


@dataclass(frozen=True)
class Dropout(DriftFactor):
    """d = keep / (1 - p), keep ~ Bernoulli(1 - p) for each unit: dropout of the drift.

    >>> Dropout(0.5)(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor(0.1), torch.tensor([[0.4, 0.6]]))
    tensor([[0., 2.]])
    """

    p: float

    def __post_init__(self) -> None:
        _probability(self.p)

    @property
    def takes_uniforms(self) -> bool:
        return self.p > 0

    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor:
        return torch.ones_like(h) if uniforms is None else (uniforms >= self.p).to(h.dtype) / (1 - self.p)


@dataclass(frozen=True)
class StochasticDepth(DriftFactor):
    """d = keep / (1 - p), keep ~ Bernoulli(1 - p) for the whole step of a sample: stochastic depth."""

    p: float

    def __post_init__(self) -> None:
        _probability(self.p)

    @property
    def takes_uniforms(self) -> bool:
        return self.p > 0

    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor:
        return torch.ones_like(h) if uniforms is None else (uniforms[..., :1] >= self.p).to(h.dtype) / (1 - self.p)


@dataclass(frozen=True)
class UniformFactor(DriftFactor):
    """d = 1 - m + m U, U uniform on [0, 1) for each unit: the released multiplicative noise, of mean 1 - m / 2."""

    multiplicative: float

    def __post_init__(self) -> None:
        if not 0 <= self.multiplicative < float("inf"):
            raise ValueError(f"Multiplicative noise must be finite and at least 0, got {self.multiplicative}.")

    @property
    def takes_uniforms(self) -> bool:
        return self.multiplicative > 0

    def __call__(self, h: State, f: State, dt: Dt, uniforms: Tensor | None) -> Tensor:
        return torch.ones_like(h) if uniforms is None else 1 - self.multiplicative + self.multiplicative * uniforms


def _at_least_zero(taming: LinearTaming | AsPrinted) -> None:
    if min(taming.c1, taming.c2) < 0:
        raise ValueError(f"Taming constants must be at least 0, got c1={taming.c1}, c2={taming.c2}.")


def _probability(p: float) -> None:
    if not 0 <= p < 1:
        raise ValueError(f"A drop probability must lie in [0, 1), got {p}.")
