"""Faults of the value: bias, gain, spikes, hum, one Fourier mode, electrode motion, muscle artefact."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from noisyrnn.perturb.draws import normal, signs, uniform
from noisyrnn.perturb.fault import Fault, Probability, Strength, Timed
from noisyrnn.perturb.readings import wave


class Bias(Fault):
    """x + offset or x - offset: a sensor's zero is wrong; the sign is drawn for each sample and channel.

    >>> Bias(offset=0.5)(torch.ones(1, 3, 1), torch.Generator().manual_seed(0)).flatten().tolist()
    [0.5, 0.5, 0.5]
    """

    strength: ClassVar[str] = "offset"
    kind: Literal["bias"] = "bias"
    offset: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x + self.offset * signs(x, x.shape[2:], generator)[:, None]


class Gain(Fault):
    """a x with a = 1 + change (largest - 1) or 1 + change (least - 1): a wrong amplifier, one or the other drawn.

    Each sample and channel has its own draw.

    >>> Gain(change=0.5)(torch.full((1, 3, 1), 2.0), torch.Generator().manual_seed(0)).flatten().tolist()
    [1.25, 1.25, 1.25]
    """

    strength: ClassVar[str] = "change"
    kind: Literal["gain"] = "gain"
    change: Probability
    largest: float = Field(default=2.0, ge=1, allow_inf_nan=False)
    least: float = Field(default=0.25, ge=0, le=1)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        louder = signs(x, x.shape[2:], generator)[:, None] > 0
        return x * torch.where(louder, 1 + self.change * (self.largest - 1), 1 + self.change * (self.least - 1))


class Spikes(Fault):
    """x + height v with probability p, v uniform in [-1, 1), else x: outliers, for each number by itself.

    >>> Spikes(height=5.0, probability=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    strength: ClassVar[str] = "height"
    kind: Literal["spikes"] = "spikes"
    height: Strength
    probability: Probability = 0.05

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        # One draw says whether and how high: below p, it is uniform there.
        u = uniform(x, x.shape[1:], generator)
        spike = u.mul(2 / max(self.probability, 1e-30)).sub_(1).mul_(self.height)
        return x + spike.masked_fill_(u >= self.probability, 0.0)


class Hum(Fault):
    """x_t + sqrt(2) sigma sin(2 pi t / period + phase): mains, at a fixed fraction of the sampling rate.

    50 Hz in a recording of 250 readings a second has period 5. The phase is uniform for each sample and channel.

    >>> hum = Hum(sigma=1.0, period=2)(torch.zeros(1, 3, 1), torch.Generator().manual_seed(0))
    >>> torch.allclose(hum[:, 0], -hum[:, 1])
    True
    """

    kind: Literal["hum"] = "hum"
    sigma: Strength
    period: float = Field(default=5.0, ge=2, allow_inf_nan=False)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        turns = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)[:, None] / self.period
        return x + math.sqrt(2) * self.sigma * wave(turns, uniform(x, x.shape[2:], generator)[:, None])


class FourierMode(Timed):
    """x_t + sqrt(2) sigma sin(2 pi k t / T + phase), k drawn from 1 .. T/2 for each sample and channel: one mode.

    (Yu, Nigmetov, Morozov, Mahoney, Erichson, "Robustifying state-space models for long sequences via approximate
    diagonalization", 2024, disturb state-space models so.)

    >>> mode = FourierMode(sigma=1.0)(torch.zeros(1, 8, 1), torch.Generator().manual_seed(0))
    >>> round(float(mode.square().mean()), 3), abs(round(float(mode.mean()), 3))
    (1.0, 0.0)
    """

    kind: Literal["fourier-mode"] = "fourier-mode"
    sigma: Strength

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        u = uniform(x, (2, x.shape[2]), generator)
        modes = (steps // 2).clamp(min=1)[:, None]
        mode = 1 + (u[:, 0] * modes).floor()
        turns = torch.arange(x.shape[1], device=x.device)[None, :, None] * (mode / steps[:, None])[:, None]
        return x + math.sqrt(2) * self.sigma * wave(turns, u[:, 1, None])


class ElectrodeMotion(Fault):
    """x + sigma y, y_t = d y_{t-1} + jumps, scaled to variance 1: a contact slips, and its potential settles again.

    A jump comes at each instant with probability ``rate``; d = 1 - 1 / settle. Synthetic: a model of electrode motion
    in an ECG, not a recording.

    >>> ElectrodeMotion(sigma=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    kind: Literal["electrode-motion"] = "electrode-motion"
    sigma: Strength
    rate: float = Field(default=0.05, gt=0, le=1)
    settle: float = Field(default=20.0, ge=1, allow_inf_nan=False)

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        u = uniform(x, x.shape[1:], generator)
        decay = 1 - 1 / self.settle
        # Uniform jumps in [-1, 1) have variance 1/3; the first instant begins in the settled law's variance.
        jump = torch.where(u < self.rate, u.mul(2 / self.rate).sub_(1), torch.zeros((), device=x.device))
        jump *= math.sqrt(3 / self.rate * (1 - decay**2))
        if x.shape[1]:
            jump[:, 0] = (2 * u[:, 0] - 1) * math.sqrt(3)
        reach, summed = 1, jump
        while reach < x.shape[1] and decay**reach > 1e-7:  # y_t = sum_s d^s jump_{t-s}, by doubling
            later = summed[:, reach:] + decay**reach * summed[:, :-reach]
            summed = torch.cat([summed[:, :reach], later], dim=1)
            reach *= 2
        return x + self.sigma * summed


class MuscleArtefact(Fault):
    """x_t + sigma (xi_t - xi_{t-1}) / sqrt(2): noise without slow parts, as muscles add to an ECG; synthetic.

    >>> MuscleArtefact(sigma=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    kind: Literal["muscle-artefact"] = "muscle-artefact"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        noise = normal(x, (x.shape[1] + 1, x.shape[2]), generator)
        return x + self.sigma / math.sqrt(2) * (noise[:, 1:] - noise[:, :-1])
