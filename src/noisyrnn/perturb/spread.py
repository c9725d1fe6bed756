"""The unit of severities: mean and standard deviation of each channel, of the data that a fault is measured by."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.perturb.fault import Fault, valid
from noisyrnn.types import Lengths, Sequence

_AT_ONCE = 2**17
"""Numbers that are disturbed together: what fits a core's cache is several times faster, and memory stays flat."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """Centre and unit of each channel: a fault sees (x - centre) / unit, and what it makes is turned back.

    So one table of severities serves all data: white noise of sigma 1 is as large as the data's own spread, a gain acts
    about the channel's mean, and a reading of 0 is that mean. Numbers that a fault leaves alone keep every bit.

    >>> from noisyrnn.perturb import Clipping
    >>> x = torch.tensor([[[10.0], [20.0], [30.0]]])
    >>> spread = Spread.of(x)
    >>> spread.disturbed(Clipping(fraction=0.5, low=-1, high=1), x, torch.Generator()).flatten()
    tensor([15.9175, 20.0000, 24.0825])
    """

    centre: Float[Tensor, " features"]
    unit: Float[Tensor, " features"]

    @classmethod
    def of(cls, x: Sequence, lengths: Lengths | None = None) -> Spread:
        """Over all valid instants of all samples; a channel that never changes has unit 1."""
        if not x.numel():
            raise ValueError(f"The spread of data needs at least one reading, got x of shape {tuple(x.shape)}.")
        there = torch.ones(1, 1, 1, dtype=torch.bool) if lengths is None else valid(x, lengths)
        there = there.to(x.device).expand(*x.shape[:2], 1)
        count = there.sum().clamp(min=1)
        wide = torch.where(there, x, 0.0).double()
        centre = wide.sum((0, 1)) / count
        unit = (torch.where(there, wide - centre, 0.0).square().sum((0, 1)) / count).sqrt()
        # Relative to the centre: what rounding leaves of a constant is not a spread.
        alive = unit > 1e-12 * (1 + centre.abs())
        return cls(centre=centre, unit=torch.where(alive, unit, 1.0))

    def disturbed(
        self, fault: Fault, x: Sequence, generator: torch.Generator, *, lengths: Lengths | None = None
    ) -> Sequence:
        """x~ of a fault whose levels are in these units; in pieces, which change nothing."""
        if x.shape[-1] != len(self.unit):
            raise ValueError(f"The spread is of {len(self.unit)} channels, but x has {x.shape[-1]}.")
        centre, unit = (one.to(x.device, x.dtype) for one in (self.centre, self.unit))
        found = torch.empty_like(x)
        pieces = max(1, _AT_ONCE // max(1, x.shape[1] * x.shape[2]))
        for begin in range(0, len(x), pieces):
            part = slice(begin, begin + pieces)
            z = (x[part] - centre) / unit
            faulty = fault(z, generator, lengths=None if lengths is None else lengths[part])
            found[part] = torch.where(faulty == z, x[part], faulty * unit + centre)
        return found
