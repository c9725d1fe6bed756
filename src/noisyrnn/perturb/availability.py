"""Readings that do not come: a stuck sensor, a gap, packets lost in a row, a dead channel."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from noisyrnn.perturb.draws import uniform
from noisyrnn.perturb.fault import Fault, Finite, Probability, Timed
from noisyrnn.perturb.readings import received

_L = TypeVar("_L", bound="LostSamples")


class _Stretch(Timed):
    """A stretch of round(share T) instants, its beginning drawn evenly from where it fits."""

    strength: ClassVar[str] = "share"
    share: Probability

    def _inside(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Where the stretch begins, (batch,), and which instants are in it, (batch, time)."""
        length = (self.share * steps).round().long()
        start = (uniform(x, (), generator) * (steps - length + 1)).long()
        # Rounding of the product may reach the end of the interval.
        start = torch.minimum(start, steps - length)
        instant = torch.arange(x.shape[1], device=x.device)
        return start, (instant >= start[:, None]) & (instant < (start + length)[:, None])


class Stuck(_Stretch):
    """x_t = x_s during a stretch that begins at s and lasts the ``share`` of the series: a frozen sensor.

    All channels freeze at once.

    >>> Stuck(share=1.0)(torch.tensor([[[1.0], [2.0], [3.0]]]), torch.Generator()).flatten().tolist()
    [1.0, 1.0, 1.0]
    """

    kind: Literal["stuck"] = "stuck"

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        start, inside = self._inside(x, steps, generator)
        held = x.gather(1, start.clamp(max=x.shape[1] - 1)[:, None, None].expand(-1, 1, x.shape[2]))
        return torch.where(inside[..., None], held, x)


class Gap(_Stretch):
    """A stretch of the ``share`` of the series did not arrive: the last reading before it is repeated.

    With ``hold=False``, and where nothing came before, a lost instant reads ``fill``. All channels are lost at once.

    >>> Gap(share=1.0, hold=False, fill=-1)(torch.ones(1, 3, 1), torch.Generator()).flatten().tolist()
    [-1.0, -1.0, -1.0]
    """

    kind: Literal["gap"] = "gap"
    hold: bool = True
    fill: Finite = 0.0

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        _, inside = self._inside(x, steps, generator)
        return received(x, ~inside, hold=self.hold, fill=self.fill)


class LostSamples(Fault):
    """Readings are lost in rows: after one that arrived with probability ``start``, after a lost one with ``stay``.

    In the long run start / (start + 1 - stay) of them are lost (Gilbert 1960). The last that arrived is repeated; with
    ``hold=False``, and before the first arrival, a lost instant reads ``fill``. All channels are lost at once.

    >>> LostSamples(start=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    """

    strength: ClassVar[str] = "start"
    kind: Literal["lost-samples"] = "lost-samples"
    start: Probability
    stay: float = Field(default=0.9, ge=0, le=1)
    hold: bool = True
    fill: Finite = 0.0

    @model_validator(mode="after")
    def _in_rows(self: _L) -> _L:
        if self.start > self.stay:
            raise ValueError(f"Losses come in rows: start must not exceed stay, got {self.start} > {self.stay}.")
        return self

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if not x.numel():
            return x.clone()
        u = uniform(x, x.shape[1:2], generator)
        # Below start an instant is lost and from stay on it arrives, whatever came before; between, it is as the last.
        # The last decision is the largest, and odd where the reading arrived.
        arrives = torch.arange(1, 2 * x.shape[1] + 1, 2, device=x.device, dtype=torch.int32)
        decided = torch.where(u < self.stay, torch.where(u < self.start, arrives - 1, -1), arrives)
        return received(x, (decided.cummax(dim=1).values & 1).bool(), hold=self.hold, fill=self.fill)


class DeadChannel(Timed):
    """One channel, drawn for each sample, reads ``fill`` for the last ``share`` of the series, or with ``hold`` sticks.

    >>> DeadChannel(share=0.5)(torch.ones(1, 4, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    strength: ClassVar[str] = "share"
    kind: Literal["dead-channel"] = "dead-channel"
    share: Probability
    hold: bool = False
    fill: Finite = 0.0

    @override
    def _timed(self, x: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        channels = x.shape[2]
        channel = (uniform(x, (), generator) * channels).long().clamp(max=channels - 1)
        death = steps - (self.share * steps).round().long()
        hit = torch.arange(channels, device=x.device) == channel[:, None]
        dead = (torch.arange(x.shape[1], device=x.device) >= death[:, None])[..., None] & hit[:, None]
        if not self.hold:
            return torch.where(dead, self.fill, x)
        last = (death - 1).clamp(min=0)[:, None, None].expand(-1, 1, channels)
        return torch.where(dead, x.gather(1, last), x)
