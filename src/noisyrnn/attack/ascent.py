"""What an attack climbs: the loss L over x, its gradient dE[L]/dx, and the mean logits of a stochastic network."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from enum import StrEnum

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from noisyrnn.types import Sequence

Network = Callable[[Tensor], Tensor]
Labels = Int[Tensor, " batch"]
Logits = Float[Tensor, "batch classes"]


class Loss(StrEnum):
    """What is driven up: the cross-entropy, or the excess of another logit, which does not saturate."""

    CROSS_ENTROPY = "cross-entropy"
    EXCESS = "excess"


def excess(logits: Logits, y: Labels) -> Float[Tensor, " batch"]:
    """max_{j != y} z_j - z_y: positive where the network errs.

    >>> excess(torch.tensor([[3.0, 1.0], [0.0, 2.5]]), torch.tensor([0, 0])).tolist()
    [-2.0, 2.5]
    """
    own = y[:, None]
    return logits.scatter(1, own, -torch.inf).amax(dim=1) - logits.gather(1, own)[:, 0]


def gradient(
    network: Network, x: Sequence, y: Labels, *, loss: Loss = Loss.CROSS_ENTROPY, passes: int = 1
) -> tuple[Sequence, Logits]:
    """dE[L]/dx of each sample, and E[logits]: means over ``passes`` forward passes.

    >>> opposite = torch.tensor([1.0, -1.0])
    >>> gradient(lambda x: x[:, -1] * opposite, torch.zeros(1, 2, 2), torch.tensor([0]))[0].tolist()
    [[[0.0, 0.0], [-0.5, -0.5]]]
    """
    point = x.detach().clone().requires_grad_()
    slopes, means = [], []
    for _ in range(passes):
        # cuDNN's recurrent layers refuse a backward pass in evaluation mode.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False) if x.is_cuda else nullcontext():
            logits = network(point)
            height = excess(logits, y).sum() if loss is Loss.EXCESS else cross_entropy(logits, y, reduction="sum")
        if not height.requires_grad:
            raise ValueError("An attack needs logits that are differentiable in x, but the network detaches x.")
        slopes.append(torch.autograd.grad(height, point)[0])
        means.append(logits.detach())
    return torch.nan_to_num(sum(slopes[1:], slopes[0]) / passes), sum(means[1:], means[0]) / passes


@torch.no_grad()
def mean_logits(network: Network, x: Tensor, passes: int) -> Tensor:
    """E[logits], the mean over ``passes`` forward passes."""
    return torch.stack([network(x) for _ in range(passes)]).mean(dim=0)
