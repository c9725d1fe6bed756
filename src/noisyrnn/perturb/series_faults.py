r"""Faults whose strength differs from series to series: x (batch, time, feature), strength (batch) -> x~.

x counts in standard deviations of the training data, so that one law of strengths serves every sensor; 0 is the mean
there. L is the length of a series, t = 0 .. L - 1, xi ~ N(0, 1), and s the strength of the series.

    warp            x(t + s L w(t)), w a smooth curve that is 0 at both ends
    jitter          x(t + s xi_t), s in instants
    scale           x exp(s xi), one xi a series
    clip            x held inside [-s, s]
    drift           x + s W_t / sqrt(L), a random walk that has standard deviation s at the end
    wander          x + s sqrt(2) sin(2 pi (k t / L + phase)), k = 1 .. 4 waves
    hold            instants lost with probability s read as the one before
    zero            instants lost with probability s read 0
    multiplicative  x (1 + s xi)
    burst           a stretch of s L instants reads 0
    spikes          instants hit with probability s are moved by +-size
    white           x + s xi

All features of an instant are lost, hit and moved in time together; noise, drift and signs are drawn for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Generator = torch.Generator | None


class Given(NamedTuple):
    """What a fault is given: series, strength (batch, 1, 1), lengths (batch, 1), size of spikes (batch, 1, 1)."""

    x: Tensor
    strength: Tensor
    lengths: Tensor
    size: Tensor
    generator: Generator

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=_device(self.generator)).to(self.x)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=_device(self.generator)).to(self.x)

    @property
    def time(self) -> Tensor:
        return torch.arange(self.x.shape[1], device=self.x.device, dtype=self.x.dtype)


def _device(generator: Generator) -> torch.device:
    return torch.device("cpu") if generator is None else generator.device


def _at(x: Tensor, instant: Tensor, lengths: Tensor) -> Tensor:
    """x at instants (batch, time) between its own, linearly, inside each series."""
    instant = torch.minimum(instant.clamp(min=0), (lengths - 1).clamp(min=0).to(instant))
    before = instant.floor()
    later = torch.minimum(before + 1, (lengths - 1).clamp(min=0).to(instant))
    picked = [x.gather(1, index.long().unsqueeze(-1).expand_as(x)) for index in (before, later)]
    return torch.lerp(picked[0], picked[1], (instant - before).unsqueeze(-1))


def _warp(given: Given) -> Tensor:
    batch = len(given.x)
    share = given.time / given.lengths.clamp(min=1)
    waves = torch.stack([torch.sin(math.pi * k * share) for k in (1, 2, 3)], dim=-1)
    curve = (waves * given.normal(batch, 1, 3)).sum(-1) / math.sqrt(1.5)
    return _at(given.x, given.time + given.strength[..., 0] * given.lengths * curve, given.lengths)


def _jitter(given: Given) -> Tensor:
    moved = given.time + given.strength[..., 0] * given.normal(*given.x.shape[:2])
    return _at(given.x, moved, given.lengths)


def _scale(given: Given) -> Tensor:
    return given.x * torch.exp(given.strength * given.normal(len(given.x), 1, 1))


def _clip(given: Given) -> Tensor:
    return torch.minimum(torch.maximum(given.x, -given.strength), given.strength)


def _drift(given: Given) -> Tensor:
    walk = given.normal(*given.x.shape).cumsum(1) / given.lengths.clamp(min=1).sqrt().unsqueeze(-1)
    return given.x + given.strength * walk


def _wander(given: Given) -> Tensor:
    batch, _, features = given.x.shape
    waves = 1 + 3 * given.uniform(batch, 1)
    turn = (waves * given.time / given.lengths.clamp(min=1)).unsqueeze(-1) + given.uniform(batch, 1, features)
    return given.x + given.strength * math.sqrt(2) * torch.sin(2 * math.pi * turn)


def _lost(given: Given) -> Tensor:
    return given.uniform(*given.x.shape[:2]) < given.strength[..., 0]


def _hold(given: Given) -> Tensor:
    instant = torch.arange(given.x.shape[1], device=given.x.device).expand(given.x.shape[:2])
    # Before the first that arrived there is nothing to hold: the first instant stands.
    last = torch.where(_lost(given), 0, instant).cummax(1).values
    return given.x.gather(1, last.unsqueeze(-1).expand_as(given.x))


def _zero(given: Given) -> Tensor:
    return given.x.masked_fill(_lost(given).unsqueeze(-1), 0.0)


def _multiplicative(given: Given) -> Tensor:
    return given.x * (1 + given.strength * given.normal(*given.x.shape))


def _burst(given: Given) -> Tensor:
    long = given.strength[..., 0] * given.lengths
    start = given.uniform(len(given.x), 1) * (given.lengths - long)
    silent = (given.time >= start) & (given.time < start + long)
    return given.x.masked_fill(silent.unsqueeze(-1), 0.0)


def _spikes(given: Given) -> Tensor:
    sign = torch.where(given.uniform(*given.x.shape) < 0.5, -given.size, given.size)
    return torch.where(_lost(given).unsqueeze(-1), given.x + sign, given.x)


def _white(given: Given) -> Tensor:
    return given.x + given.strength * given.normal(*given.x.shape)


KINDS: dict[str, Callable[[Given], Tensor]] = {
    "warp": _warp,
    "jitter": _jitter,
    "scale": _scale,
    "clip": _clip,
    "drift": _drift,
    "wander": _wander,
    "hold": _hold,
    "zero": _zero,
    "multiplicative": _multiplicative,
    "burst": _burst,
    "spikes": _spikes,
    "white": _white,
}
"""Every kind, in the order in which a sensor does them: first time, then the signal, then what is read of it."""
