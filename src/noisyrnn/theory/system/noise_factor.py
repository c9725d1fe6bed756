r"""The noise of one step, as a factor N of its covariance N N^T: diagonal where it can be, else dense."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class NoiseFactor:
    """N: (batch, units) if diagonal, else (batch, units, noises).

    >>> NoiseFactor(torch.tensor([[2.0, 3.0]]), diagonal=True).covariance()
    tensor([[[4., 0.],
             [0., 9.]]])
    """

    values: Tensor
    diagonal: bool

    def trace(self, S: Float[Tensor, "*more batch units units"]) -> Float[Tensor, "*more batch"]:
        """tr(N^T S N)."""
        if self.diagonal:
            return (self.values.square() * S.diagonal(dim1=-2, dim2=-1)).sum(-1)
        return (self.values * (S @ self.values)).sum((-2, -1))

    def squared_norm(self, covectors: Float[Tensor, "many batch units"]) -> Float[Tensor, " batch"]:
        """||N^T L||_F^2, L given by its columns."""
        if self.diagonal:
            return (self.values * covectors).square().sum((0, -1))
        return torch.einsum("bdr,kbd->kbr", self.values, covectors).square().sum((0, -1))

    def covariance(self) -> Float[Tensor, "batch units units"]:
        """N N^T."""
        return torch.diag_embed(self.values.square()) if self.diagonal else self.values @ self.values.mT
