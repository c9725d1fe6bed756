"""How an attack climbs: the gradient dE[L]/dx of a loss, and the mean logits of a stochastic network."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor

from noisyrnn.attack.losses import Heights, Labels, Logits, Loss, height
from noisyrnn.types import Sequence

Network = Callable[..., Tensor]
"""x (batch, time, feature) -> logits (batch, classes); where lengths are given it is called with ``lengths=``."""


def gradient(
    network: Network, x: Sequence, y: Labels, *, loss: Loss = Loss.CROSS_ENTROPY, passes: int = 1
) -> tuple[Sequence, Logits]:
    """dE[L]/dx of each sample, and E[logits]: means over ``passes`` forward passes.

    >>> opposite = torch.tensor([1.0, -1.0])
    >>> gradient(lambda x: x[:, -1] * opposite, torch.zeros(1, 2, 2), torch.tensor([0]))[0].tolist()
    [[[0.0, 0.0], [-0.5, -0.5]]]
    """
    slope, _, logits = slopes(network, x, lambda logits: height(logits, y, loss), passes)
    return slope, logits


def slopes(
    network: Network, x: Sequence, objective: Callable[[Tensor], Tensor], passes: int
) -> tuple[Sequence, Heights, Logits]:
    """dE[L]/dx, E[L] and E[logits] of each sample, where ``objective`` is L, a function of the logits."""
    point = x.detach().clone().requires_grad_()
    found, heights, means = [], [], []
    for _ in range(passes):
        # cuDNN's recurrent layers refuse a backward pass in evaluation mode.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False) if x.is_cuda else nullcontext():
            logits = network(point)
            risen = objective(logits)
            total = risen.sum()
        if not total.requires_grad:
            raise ValueError("An attack needs logits that are differentiable in x, but the network detaches x.")
        found.append(torch.autograd.grad(total, point)[0])
        heights.append(risen.detach())
        means.append(logits.detach())
    return torch.nan_to_num(_mean(found)), _mean(heights), _mean(means)


@torch.no_grad()
def mean_logits(network: Network, x: Tensor, passes: int) -> Tensor:
    """E[logits], the mean over ``passes`` forward passes."""
    return torch.stack([network(x) for _ in range(passes)]).mean(dim=0)


def _mean(parts: list[Tensor]) -> Tensor:
    return sum(parts[1:], parts[0]) / len(parts)
