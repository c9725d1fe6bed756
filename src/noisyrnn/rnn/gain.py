r"""Gains: how much larger than a change of the inputs the change of the outputs can be, both in l2 over all steps.

    sum_t |dy_t|^2  <=  growth^(2 T) sum_t sum_c (channels_c du_tc)^2       for any two inputs from one start

Where gains hold for every input (not only near one), they compose: those of layers on top of each other multiply, those
of two directions add as squares. Rounding is an input like any other: what step t adds travels with the same gain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class NoGain(ValueError):
    """Nobody has proved a gain of this; the message says why, and what has one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Gain:
    """Gain of each input channel, and the factor above 1 (by rounding of the weights, at best) of every step.

    >>> two = Gain(channels=torch.tensor([3.0, 4.0], dtype=torch.float64), growth=1.0)
    >>> two.total, two.after(two).total, round(two.beside(two).total ** 2, 6)
    (4.0, 16.0, 32.0)
    """

    channels: Tensor
    growth: float

    @property
    def total(self) -> float:
        """Gain for changes of all channels together, growth apart."""
        return float(self.channels.max())

    def after(self, below: Gain) -> Gain:
        """Of this on top of another."""
        return Gain(channels=self.total * below.channels, growth=self.growth * below.growth)

    def beside(self, other: Gain) -> Gain:
        """Of the outputs of both side by side, from the same inputs."""
        squares = self.channels.square() + other.channels.square()
        return Gain(channels=squares.sqrt(), growth=max(self.growth, other.growth))

    def over(self, steps: Tensor) -> Tensor:
        """growth^T for each number of steps."""
        return torch.exp(steps.double() * math.log(self.growth))


class Rounded(NamedTuple):
    """A gain, outputs of a sequence, and bounds of their rounding: the sum over steps of what each adds in l2, for each
    sample, and how much more a step adds for each unit by which its inputs are longer.
    """

    gain: Gain
    outputs: Tensor
    error: Tensor
    slope: float
