"""Noise of the contract of :mod:`noisyrnn.sde.brownian`, made by the kernel."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.rnn.native.kernel import module, threads
from noisyrnn.sde.brownian import Channel, Key, check_extent


def gaussian(key: Key, samples: int, steps: int, units: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """xi ~ N(0, 1), (steps, samples, units): :func:`noisyrnn.sde.brownian.draw`, faster."""
    return _filled(key, (steps, samples, units), dtype, Channel.GAUSSIAN)


def uniform(
    key: Key,
    samples: int,
    steps: int,
    units: int,
    dtype: torch.dtype = torch.float32,
    channel: Channel = Channel.UNIFORM,
) -> Tensor:
    """U in [0, 1), (steps, samples, units): :func:`noisyrnn.sde.brownian.uniform`, faster."""
    return _filled(key, (steps, samples, units), dtype, channel)


def numbers(key: Key) -> tuple[int, int, int, int]:
    """The key as the kernel takes it."""
    return key.number(), key.stream, key.sample, key.step


def _filled(key: Key, shape: tuple[int, int, int], dtype: torch.dtype, channel: Channel) -> Tensor:
    steps, samples, units = shape
    check_extent(key, samples, steps, units)
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"The kernel makes noise in float32 and float64, got {dtype}.")
    out = torch.empty(shape, dtype=dtype)
    module().fill(out, numbers(key), int(channel), threads())
    return out
