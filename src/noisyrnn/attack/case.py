"""What is attacked: samples, the network as it is called for them, and what of them is valid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from noisyrnn.attack.ascent import Network, mean_logits
from noisyrnn.attack.draws import Draws
from noisyrnn.attack.losses import excess


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """Samples x with classes y of a network; beyond their lengths there is padding, which stays as it is.

    >>> case = Case(network=lambda x: x[:, 0], x=torch.zeros(3, 4, 2), y=torch.tensor([0, 1, 0]))
    >>> case.part(torch.tensor([2])).y.tolist(), case.valid is None
    ([0], True)
    """

    network: Network
    x: Tensor
    y: Tensor
    lengths: Tensor | None = None
    draws: Draws | None = None

    def __len__(self) -> int:
        return len(self.x)

    def logits(self, x: Tensor) -> Tensor:
        """Logits of points in place of x."""
        return self.network(x) if self.lengths is None else self.network(x, lengths=self.lengths)

    def mean_logits(self, x: Tensor, passes: int) -> Tensor:
        """E[logits] of points in place of x."""
        return mean_logits(self.logits, x, passes)

    @property
    def valid(self) -> Tensor | None:
        """(batch, time, 1): where there is data; none if that is everywhere."""
        if self.lengths is None:
            return None
        return (torch.arange(self.x.shape[1], device=self.x.device) < self.lengths[:, None])[:, :, None]

    @property
    def steps(self) -> Tensor:
        """Valid steps of each sample, (batch,)."""
        if self.lengths is None:
            return torch.full((len(self),), self.x.shape[1], device=self.x.device)
        return self.lengths

    def part(self, index: Tensor) -> Case:
        """Some of the samples."""
        lengths = None if self.lengths is None else self.lengths[index]
        draws = None if self.draws is None else self.draws.part(index)
        return replace(self, x=self.x[index], y=self.y[index], lengths=lengths, draws=draws)

    def excess(self, x: Tensor, passes: int, batch: int | None = None) -> Tensor:
        """max_{j != y} E[z_j] - E[z_y] at points in place of x, (batch,): the network errs unless it is <= 0."""
        heights = self.x.new_empty(len(self))
        for piece in self.pieces(batch):
            part = self.part(piece)
            heights[piece] = excess(part.mean_logits(x[piece], passes), part.y)
        return heights

    def pieces(self, batch: int | None) -> tuple[Tensor, ...]:
        """Indices of at most ``batch`` samples at a time; of all at once by default."""
        return torch.arange(len(self), device=self.x.device).split(batch or max(len(self), 1))

    def drawn(self, count: int) -> Tensor:
        """Random numbers in [0, 1) of each sample, (batch, count), in double precision."""
        if self.draws is None:
            raise ValueError(
                "An attack that draws random numbers needs a torch.Generator: give one, or set "
                "random_start=False in PGD and APGD."
            )
        return self.draws.uniform(count).to(self.x.device)
