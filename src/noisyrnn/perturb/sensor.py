"""Faults of real sensors: dropped samples, bursts, drift, baseline wander, clipping, time jitter, quantisation."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from noisyrnn.perturb.draws import normal, signs, uniform
from noisyrnn.perturb.fault import Fault, Finite, Probability, Ranged, Strength, Timed
from noisyrnn.perturb.readings import read_at, received, wave
from noisyrnn.setting import Added


class DroppedSamples(Fault):
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
        arrived = uniform(x, x.shape[1:2], generator) >= self.probability
        return received(x, arrived, hold=self.hold, fill=self.fill)


class Bursts(Fault):
    """x + sigma xi during bursts: one starts at each instant with probability ``rate``.

    It lasts ``duration`` instants; after the first ``duration - 1`` of a sequence, the share of disturbed
    instants is 1 - (1 - rate)^duration.

    >>> Bursts(sigma=1.0, rate=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    kind: Literal["bursts"] = "bursts"
    sigma: Strength
    rate: Probability = 0.01
    duration: int = Field(default=10, ge=1, le=2**31)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        time = x.shape[1]
        numbers = normal(x, (time + math.prod(x.shape[1:]),), generator)
        # Starts and loudness share one draw, start first: a normal number below the quantile starts a burst.
        starts = torch.special.ndtr(numbers[:, :time]) < self.rate
        begun = starts.cumsum(dim=1)
        ended = torch.nn.functional.pad(begun, (self.duration, 0))[:, :time]
        noise = numbers[:, time:].reshape(x.shape)
        return torch.where((begun > ended)[..., None], x + self.sigma * noise, x)


class Drift(Timed):
    """x_t + sigma W_t / sqrt(T), W_t = xi_1 + .. + xi_t: each channel's zero walks, to sigma at the end.

    With ``ramp`` it goes straight, to +sigma or -sigma: x_t +- sigma t / T, the sign drawn for each channel.

    >>> Drift(sigma=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    >>> Drift(sigma=1.0, ramp=True)(torch.zeros(1, 4, 1), torch.Generator().manual_seed(0)).abs().flatten().tolist()
    [0.25, 0.5, 0.75, 1.0]
    """

    kind: Literal["drift"] = "drift"
    sigma: Strength
    ramp: Annotated[bool, Added("0.2")] = False

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        if self.ramp:
            part = torch.arange(1, x.shape[1] + 1, device=x.device) / steps[:, None]
            return x + self.sigma * signs(x, x.shape[2:], generator)[:, None] * part[..., None]
        walk = normal(x, x.shape[1:], generator).cumsum(dim=1)
        return x + (self.sigma / steps.double().sqrt()).to(walk.dtype)[:, None, None] * walk


class BaselineWander(Timed):
    """x_t + sqrt(2) sigma sin(2 pi t / period + phase): a slow wave, as breathing adds to an ECG.

    The phase is uniform for each sample and channel, so that sigma is the standard deviation at every
    instant; the period counts instants. With ``cycles`` a series of any length has that many waves instead.

    >>> wave = BaselineWander(sigma=1.0, period=2)(torch.zeros(1, 3, 1), torch.Generator().manual_seed(0))
    >>> torch.allclose(wave[:, 0], -wave[:, 1]), torch.allclose(wave[:, 0], wave[:, 2], atol=1e-5)
    (True, True)
    """

    kind: Literal["baseline-wander"] = "baseline-wander"
    sigma: Strength
    period: float = Field(default=100.0, gt=0, allow_inf_nan=False)
    cycles: Annotated[float | None, Added("0.2"), Field(gt=0, allow_inf_nan=False)] = None

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        instant = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        if self.cycles is None:
            turns = (instant / self.period)[None, :, None]
        else:
            turns = (self.cycles * instant / steps[:, None])[..., None]
        return x + math.sqrt(2) * self.sigma * wave(turns, uniform(x, x.shape[2:], generator)[:, None, :])


class Clipping(Ranged):
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


class TimeJitter(Timed):
    """x(t + sigma xi_t), linear between instants: a clock trembles; sigma counts instants.

    >>> TimeJitter(sigma=5.0)(torch.ones(1, 3, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0, 1.0]
    """

    kind: Literal["time-jitter"] = "time-jitter"
    sigma: Strength

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        instant = torch.arange(x.shape[1], device=x.device) + self.sigma * normal(x, x.shape[1:2], generator)
        return read_at(x, instant, steps)


class Quantisation(Fault):
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
