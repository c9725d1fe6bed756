r"""A readout whose rows have one length: logits = W f + c with |w_b| = norm for every class b.

Where |w_a - w_b| stands below a margin, as it does in certificates, no class can buy its scores by a longer row.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class EqualRows(nn.Module):
    """logits = W f + c with rows w_b = norm d_b / |d_b|; ``weight`` and ``bias`` are what is multiplied and added.

    The norm is the temperature of the scores: softmax takes a difference of features for the more certain, the larger
    it is. Rows can be turned, not stretched, whatever the training does.

    >>> readout = EqualRows(4, 3, norm=30.0)
    >>> torch.allclose(readout.weight.norm(dim=1), torch.full((3,), 30.0))
    True
    """

    def __init__(self, in_features: int, out_features: int, *, norm: float = 1.0) -> None:
        super().__init__()
        if not 0 < norm < float("inf"):
            raise ValueError(f"The length of the readout's rows must be above 0 and finite, got {norm}.")
        self.in_features, self.out_features, self.norm = in_features, out_features, norm
        self.direction = nn.Parameter(nn.functional.normalize(torch.randn(out_features, in_features), dim=1))
        self.offset = nn.Parameter(torch.zeros(out_features))

    @property
    def weight(self) -> Tensor:
        """W, whose rows have the length ``norm``."""
        return self.norm * nn.functional.normalize(self.direction, dim=1)

    @property
    def bias(self) -> Tensor:
        """c, on the scale of the scores."""
        return self.norm * self.offset

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.linear(features, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, norm={self.norm:g}"
