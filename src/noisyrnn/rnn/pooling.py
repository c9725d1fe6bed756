"""Pooling: what a readout sees of a sequence's outputs, the last valid one or a summary of all valid ones."""

from __future__ import annotations

from enum import StrEnum

import torch
from torch import Tensor


class Pooling(StrEnum):
    """What is read out: the last valid state, the mean over the valid steps, or that and the largest side by side."""

    LAST = "last"
    MEAN = "mean"
    MEAN_MAX = "mean-max"

    @property
    def parts(self) -> int:
        """How many features come of one unit."""
        return 2 if self is Pooling.MEAN_MAX else 1


def mean_over_time(outputs: Tensor, lengths: Tensor | None) -> Tensor:
    """Mean of outputs (time, batch, units) over each sample's valid steps; zero where there are none.

    Outputs beyond the length must be zero, as layers give them.

    >>> mean_over_time(torch.tensor([[[1.0]], [[3.0]], [[0.0]]]), torch.tensor([2])).item()
    2.0
    """
    if lengths is None:
        return outputs.mean(0) if len(outputs) else outputs.new_zeros(outputs.shape[1:])
    return outputs.sum(0) / lengths.clamp(min=1).unsqueeze(1)


def shown(outputs: Tensor | None, total: Tensor | None, steps: int, lengths: Tensor | None) -> Tensor | None:
    """What a call shows: the outputs, or, where there is their sum over the valid steps, its mean as a single step.

    >>> shown(None, torch.tensor([[4.0], [4.0]]), 4, torch.tensor([2, 4])).flatten()
    tensor([2., 1.])
    """
    if total is None:
        return outputs
    counts = steps if lengths is None else lengths.clamp(min=1).unsqueeze(1)
    return (total / counts).unsqueeze(0)


def largest_over_time(outputs: Tensor, lengths: Tensor | None) -> Tensor:
    """Largest of outputs (time, batch, units) over each sample's valid steps; zero where there are none.

    >>> largest_over_time(torch.tensor([[[-1.0]], [[-3.0]], [[0.0]]]), torch.tensor([2])).item()
    -1.0
    """
    if not len(outputs):
        return outputs.new_zeros(outputs.shape[1:])
    if lengths is None:
        return outputs.amax(0)
    beyond = (torch.arange(len(outputs), device=outputs.device).unsqueeze(1) >= lengths).unsqueeze(-1)
    largest = outputs.masked_fill(beyond, -torch.inf).amax(0)
    return largest.masked_fill((lengths == 0).unsqueeze(1), 0.0)


def pooled(outputs: Tensor, lengths: Tensor | None, pooling: Pooling) -> Tensor:
    """Features (batch, parts x units) of outputs (time, batch, units).

    >>> pooled(torch.tensor([[[1.0]], [[3.0]]]), None, Pooling.MEAN_MAX)
    tensor([[2., 3.]])
    """
    if pooling is Pooling.LAST:
        raise ValueError("The last valid state comes from the layer itself: Layer.last(h_n).")
    mean = mean_over_time(outputs, lengths)
    return mean if pooling is Pooling.MEAN else torch.cat([mean, largest_over_time(outputs, lengths)], dim=-1)


class RunningPool:
    """What is pooled of a sequence that comes in pieces: the features of all that was seen so far.

    >>> pool = RunningPool(Pooling.MEAN)
    >>> pool(torch.tensor([[[1.0]], [[3.0]]])).item(), pool(torch.tensor([[[8.0]]])).item()
    (2.0, 4.0)
    """

    def __init__(self, pooling: Pooling) -> None:
        self.pooling = pooling
        self.steps = 0
        self._total: Tensor | None = None
        self._largest: Tensor | None = None

    def __call__(self, outputs: Tensor) -> Tensor:
        """Features (batch, parts x units) after the next outputs (time, batch, units)."""
        # In double precision: to a long sum in single precision, the next step is nothing.
        total = outputs.sum(0, dtype=torch.float64)
        self._total = total if self._total is None else self._total + total
        self.steps += len(outputs)
        mean = (self._total / max(1, self.steps)).to(outputs)
        if self.pooling is Pooling.MEAN:
            return mean
        if len(outputs):
            largest = outputs.amax(0)
            self._largest = largest if self._largest is None else torch.maximum(self._largest, largest)
        return torch.cat([mean, torch.zeros_like(mean) if self._largest is None else self._largest], dim=-1)
