"""What a receiver makes of a series: readings between instants, readings that did not arrive, and waves on top."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def read_at(x: Tensor, instant: Tensor, steps: Tensor) -> Tensor:
    """x(instant) of each sample, linear between instants; before the first and after the last valid one it stays.

    >>> read_at(torch.tensor([[[0.0], [2.0], [9.0]]]), torch.tensor([[-1.0, 0.5, 7.0]]), torch.tensor([2])).flatten()
    tensor([0., 1., 2.])
    """
    last = (steps - 1).clamp(min=0)[:, None]
    # The last valid reading is read as such, whatever lies beyond it: hence the interval before it.
    instant = torch.minimum(instant.clamp(min=0), last)
    before = instant.floor()
    part = (instant - before)[..., None].to(x.dtype)
    index = before.int()
    earlier = picked(x, index)
    later = picked(x, torch.minimum(index + 1, last.int()))
    return torch.lerp(earlier, later, part)


def received(x: Tensor, arrived: Tensor, *, hold: bool, fill: float) -> Tensor:
    """Instants that did not arrive repeat the last that did; without ``hold``, or before any arrived, they read fill.

    >>> x, arrived = torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([[False, True, False]])
    >>> received(x, arrived, hold=True, fill=-1.0).flatten().tolist()
    [-1.0, 2.0, 2.0]
    """
    if not hold or not x.shape[1]:
        return torch.where(arrived[..., None], x, fill)
    last = torch.arange(x.shape[1], device=x.device, dtype=torch.int32).where(arrived, -1).cummax(dim=1).values
    return picked(x, last.clamp(min=0)).masked_fill_((last < 0)[..., None], fill)


def picked(x: Tensor, index: Tensor) -> Tensor:
    """x[i, index[i, t]] for every sample i and instant t, all features of it."""
    if x.numel() < 2**31:
        index = index.int()  # half the traffic
    rows = torch.arange(len(x), device=x.device, dtype=index.dtype)[:, None] * x.shape[1]
    return x.reshape(-1, x.shape[2]).index_select(0, (rows + index).flatten()).reshape(*index.shape, x.shape[2])


def wave(turns: Tensor, phase: Tensor) -> Tensor:
    """sin(2 pi (turns + phase))."""
    return torch.sin((turns + phase) * (2 * math.pi))
