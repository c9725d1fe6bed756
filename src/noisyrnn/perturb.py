r"""What bad sensors do to a sequence: x, generator -> x~ with x of shape (batch, time, feature).

The three perturbations of the paper (Lim, Erichson, Hodgkinson, Mahoney, "Noisy Recurrent Neural
Networks", 2021, Section 7), with xi ~ N(0, 1) independent for each number of x:

    white               x~ = x + sigma xi
    multiplicative      x~ = x (1 + sigma xi)
    salt and pepper     P(x~ = max) = P(x~ = min) = p / 2,   P(x~ = x) = 1 - p

and seven faults of real sensors: dropped samples, bursts, drift, baseline wander, clipping, time jitter,
quantisation.

Each is a setting that can be called. sigma is always a standard deviation. Nothing is clamped unless
``bounds`` is given. The generator is never optional. Numbers are drawn sample after sample, so that
perturbing consecutive pieces of a batch with one generator gives what the whole batch would get: results
do not depend on the size of a batch, except where the range of the data is taken from the piece itself
(``low`` and ``high`` left out). Numbers are drawn in single precision on the generator's device, then
moved: every precision and device sees the same noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from noisyrnn.setting import Setting
from noisyrnn.types import Sequence

Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]

# torch draws normal numbers in blocks of sixteen; whole blocks for each sample keep samples apart.
_NORMAL_BLOCK = 16

_F = TypeVar("_F", bound="_Fault")
_R = TypeVar("_R", bound="_Ranged")


class _Fault(Setting, ABC):
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

        >>> White(sigma=0.1).at(0.3)
        White(bounds=None, kind='white', sigma=0.3)
        """
        return type(self).model_validate({**self.model_dump(), self.strength: level})

    def __call__(self, x: Sequence, generator: torch.Generator) -> Sequence:
        """x~, a new tensor with the shape, precision and device of x."""
        if x.ndim != 3 or not x.is_floating_point():
            raise ValueError(
                f"Perturbations take floating point x of shape (batch, time, feature), "
                f"got {x.dtype} of shape {tuple(x.shape)}; add the missing axis or convert with x.float()."
            )
        faulty = self._faulty(x, generator).to(x.dtype)
        return faulty if self.bounds is None else faulty.clamp(*self.bounds)

    @abstractmethod
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor: ...


class White(_Fault):
    """x + sigma xi: additive white noise, a poor sensor.

    >>> x = torch.zeros(1, 3, 1)
    >>> White(sigma=0.0)(x, torch.Generator().manual_seed(0)).flatten().tolist()
    [0.0, 0.0, 0.0]
    """

    kind: Literal["white"] = "white"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x + self.sigma * _normal(x, x.shape[1:], generator)


class Multiplicative(_Fault):
    """x (1 + sigma xi): a gain that fluctuates; zeros stay zeros.

    >>> Multiplicative(sigma=0.5)(torch.zeros(1, 2, 1), torch.Generator()).flatten().tolist()
    [0.0, 0.0]
    """

    kind: Literal["multiplicative"] = "multiplicative"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x * (1 + self.sigma * _normal(x, x.shape[1:], generator))


class _Ranged(_Fault):
    """A fault that needs the range of the data: given, or else taken from the x of the call."""

    low: Finite | None = None
    high: Finite | None = None

    @model_validator(mode="after")
    def _range(self: _R) -> _R:
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"The range of the data needs low < high, got low={self.low}, high={self.high}.")
        return self

    def _limits(self, x: Tensor) -> tuple[float, float]:
        low = float(x.min()) if self.low is None else self.low
        high = float(x.max()) if self.high is None else self.high
        return low, high


class SaltAndPepper(_Ranged):
    """P(x~ = high) = P(x~ = low) = p / 2, else x: defective pixels, at the extremes of the data.

    >>> SaltAndPepper(probability=1.0, low=0, high=1)(torch.full((1, 4, 1), 0.5),
    ...     torch.Generator().manual_seed(0)).flatten().tolist()
    [1.0, 0.0, 1.0, 1.0]
    """

    strength: ClassVar[str] = "probability"
    kind: Literal["salt-and-pepper"] = "salt-and-pepper"
    probability: Probability

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if x.numel() == 0:
            return x.clone()
        low, high = self._limits(x)
        u = _uniform(x, x.shape[1:], generator)
        salted = torch.where(u < self.probability / 2, high, x)
        return torch.where((u >= self.probability / 2) & (u < self.probability), low, salted)


class DroppedSamples(_Fault):
    """Each instant is lost with probability p, and the last one that arrived is repeated.

    All features of an instant are lost at once. With ``hold=False``, and before the first arrival, a lost
    instant reads ``fill``.

    >>> DroppedSamples(probability=1.0, fill=-1)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [-1.0, -1.0]
    """

    strength: ClassVar[str] = "probability"
    kind: Literal["dropped-samples"] = "dropped-samples"
    probability: Probability
    hold: bool = True
    fill: Finite = 0.0

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        arrived = _uniform(x, x.shape[1:2], generator) >= self.probability
        instant = torch.arange(x.shape[1], device=x.device)
        last = torch.where(arrived, instant, -1)
        if self.hold and x.shape[1]:
            last = last.cummax(dim=1).values
        held = x.gather(1, last.clamp(min=0)[..., None].expand_as(x))
        return torch.where(last[..., None] < 0, self.fill, held)


class Bursts(_Fault):
    """x + sigma xi during bursts: one starts at each instant with probability ``rate``.

    It lasts ``duration`` instants; after the first ``duration - 1`` of a sequence, the share of disturbed
    instants is 1 - (1 - rate)^duration.

    >>> Bursts(sigma=1.0, rate=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    kind: Literal["bursts"] = "bursts"
    sigma: Strength
    rate: Probability = 0.01
    duration: int = Field(default=10, ge=1)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        time = x.shape[1]
        numbers = _normal(x, (time + math.prod(x.shape[1:]),), generator)
        # Starts and loudness share one draw, start first: a normal number below the quantile starts a burst.
        starts = torch.special.ndtr(numbers[:, :time]) < self.rate
        begun = starts.cumsum(dim=1)
        ended = torch.nn.functional.pad(begun, (self.duration, 0))[:, :time]
        noise = numbers[:, time:].reshape(x.shape)
        return torch.where((begun > ended)[..., None], x + self.sigma * noise, x)


class Drift(_Fault):
    """x_t + sigma W_t / sqrt(T), W_t = xi_1 + .. + xi_t: each channel's zero walks, to sigma at the end.

    >>> Drift(sigma=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    kind: Literal["drift"] = "drift"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        walk = _normal(x, x.shape[1:], generator).cumsum(dim=1)
        return x + self.sigma / math.sqrt(max(x.shape[1], 1)) * walk


class BaselineWander(_Fault):
    """x_t + sqrt(2) sigma sin(2 pi t / period + phase): a slow wave, as breathing adds to an ECG.

    The phase is uniform for each sample and channel, so that sigma is the standard deviation at every
    instant; the period counts instants.

    >>> wave = BaselineWander(sigma=1.0, period=2)(torch.zeros(1, 3, 1), torch.Generator().manual_seed(0))
    >>> torch.allclose(wave[:, 0], -wave[:, 1]), torch.allclose(wave[:, 0], wave[:, 2], atol=1e-5)
    (True, True)
    """

    kind: Literal["baseline-wander"] = "baseline-wander"
    sigma: Strength
    period: float = Field(default=100.0, gt=0, allow_inf_nan=False)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        cycles = torch.arange(x.shape[1], device=x.device, dtype=torch.float32) / self.period
        turn = cycles[:, None] + _uniform(x, x.shape[2:], generator)[:, None, :]
        return x + math.sqrt(2) * self.sigma * torch.sin(2 * math.pi * turn)


class Clipping(_Ranged):
    """x held inside the middle (1 - fraction) of [low, high]: an amplifier saturates; draws nothing.

    >>> x = torch.tensor([[[-1.0], [0.2], [0.9]]])
    >>> Clipping(fraction=0.5, low=-1, high=1)(x, torch.Generator()).flatten()
    tensor([-0.5000,  0.2000,  0.5000])
    """

    strength: ClassVar[str] = "fraction"
    kind: Literal["clipping"] = "clipping"
    fraction: Probability

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if x.numel() == 0:
            return x.clone()
        low, high = self._limits(x)
        lost = self.fraction * (high - low) / 2
        return x.clamp(low + lost, high - lost)


class TimeJitter(_Fault):
    """x(t + sigma xi_t), linear between instants: a clock trembles; sigma counts instants.

    >>> TimeJitter(sigma=5.0)(torch.ones(1, 3, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0, 1.0]
    """

    kind: Literal["time-jitter"] = "time-jitter"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        last = max(x.shape[1] - 1, 0)
        instant = torch.arange(x.shape[1], device=x.device) + self.sigma * _normal(x, x.shape[1:2], generator)
        instant = instant.clamp(0, last)
        before = instant.floor()
        part = (instant - before)[..., None].to(x.dtype)
        earlier = x.gather(1, before.long()[..., None].expand_as(x))
        later = x.gather(1, (before.long() + 1).clamp(max=last)[..., None].expand_as(x))
        return torch.lerp(earlier, later, part)


class Quantisation(_Fault):
    """step round(x / step): a coarse converter (halves to the even multiple); draws nothing.

    >>> Quantisation(step=0.5)(torch.tensor([[[0.2], [0.3]]]), torch.Generator()).flatten().tolist()
    [0.0, 0.5]
    """

    strength: ClassVar[str] = "step"
    kind: Literal["quantisation"] = "quantisation"
    step: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x.clone() if self.step == 0 else torch.round(x / self.step) * self.step


Perturbation = Annotated[
    White
    | Multiplicative
    | SaltAndPepper
    | DroppedSamples
    | Bursts
    | Drift
    | BaselineWander
    | Clipping
    | TimeJitter
    | Quantisation,
    Field(discriminator="kind"),
]
"""Any perturbation; in JSON the field ``kind`` tells which."""


def _normal(x: Tensor, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """xi ~ N(0, 1) of ``shape`` for each sample of x."""
    count = math.prod(shape)
    blocks = -(-count // _NORMAL_BLOCK) * _NORMAL_BLOCK
    drawn = torch.randn(len(x), blocks, generator=generator, device=generator.device, dtype=torch.float32)
    return drawn[:, :count].reshape(len(x), *shape).to(x.device)


def _uniform(x: Tensor, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """u uniform in [0, 1) of ``shape`` for each sample of x."""
    drawn = torch.rand(len(x), *shape, generator=generator, device=generator.device, dtype=torch.float32)
    return drawn.to(x.device)
