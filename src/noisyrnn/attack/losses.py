r"""What an attack climbs: a height L(z, y) of the logits z that rises as the network comes to err.

    cross-entropy   -log softmax(z)_y
    excess          max_{j != y} z_j - z_y
    DLR             (max_{j != y} z_j - z_y) / (z_(1) - z_(3)),   z_(1) >= z_(2) >= ... the logits in order

Towards a class t (Croce and Hein 2020 divide by z_(1) - (z_(3) + z_(4)) / 2): log softmax(z)_t, z_t - z_y, and their
quotient. DLR, the difference of logits ratio, does not change when all logits are shifted or scaled, so no confidence
of a network makes it flat. Where there are too few classes for a denominator, it is the one that exists: with three
classes z_(1) - z_(3) also towards a class, and with two none, which leaves the excess.
"""

from __future__ import annotations

from enum import StrEnum

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

Labels = Int[Tensor, " batch"]
Logits = Float[Tensor, "batch classes"]
Heights = Float[Tensor, " batch"]


class Loss(StrEnum):
    """What is driven up: the cross-entropy; the excess of another logit; the excess in units of the logits' spread."""

    CROSS_ENTROPY = "cross-entropy"
    EXCESS = "excess"
    DLR = "dlr"


def excess(logits: Logits, y: Labels) -> Heights:
    """max_{j != y} z_j - z_y: positive where the network errs.

    >>> excess(torch.tensor([[3.0, 1.0], [0.0, 2.5]]), torch.tensor([0, 0])).tolist()
    [-2.0, 2.5]
    """
    own = y[:, None]
    return logits.scatter(1, own, -torch.inf).amax(dim=1) - logits.gather(1, own)[:, 0]


def height(logits: Logits, y: Labels, loss: Loss, towards: Labels | None = None) -> Heights:
    """L(z, y) of each sample; with ``towards``, how far class t has come instead of any other.

    >>> z, y = torch.tensor([[4.0, 2.0, 1.0, 0.0]]), torch.tensor([0])
    >>> float(height(z, y, Loss.DLR)), float(height(z, y, Loss.DLR, towards=torch.tensor([3])))  # -2/3, -4/3.5
    (-0.666..., -1.142...)
    """
    if loss is Loss.CROSS_ENTROPY:
        return cross_entropy(logits, y, reduction="none") if towards is None else -cross_entropy(
            logits, towards, reduction="none"
        )  # fmt: skip
    if towards is None:
        ahead = excess(logits, y)
    else:
        ahead = (logits.gather(1, towards[:, None]) - logits.gather(1, y[:, None]))[:, 0]
    return ahead if loss is Loss.EXCESS else ahead / _spread(logits, to_a_class=towards is not None)


def _spread(logits: Tensor, *, to_a_class: bool) -> Tensor:
    classes = logits.shape[1]
    if classes < 3:
        return logits.new_ones(len(logits))
    top = logits.topk(min(classes, 4), dim=1).values
    spread = top[:, 0] - (top[:, 2:4].mean(dim=1) if to_a_class else top[:, 2])
    # Three equal logits at the top: their order says nothing, and nothing may be divided by.
    return spread.clamp(min=torch.finfo(logits.dtype).eps)
