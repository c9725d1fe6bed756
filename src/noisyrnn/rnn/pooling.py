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
