"""What attacks have in common: radius, bounds, target, and how a batch is worked on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn

from noisyrnn.attack.ascent import Labels, Loss, Network, excess, gradient, mean_logits
from noisyrnn.setting import Setting
from noisyrnn.types import Sequence

Finite = Annotated[float, Field(allow_inf_nan=False)]
Bound = Finite | tuple[Finite, ...]

_A = TypeVar("_A", bound="Adversary")


class Adversary(Setting, ABC):
    """An attack: frozen, keyword-only, and called as ``attack(network, x, y, generator)``."""

    radius: float = Field(ge=0, allow_inf_nan=False)
    bounds: tuple[Bound, Bound] | None = None
    targeted: bool = False
    loss: Loss = Loss.CROSS_ENTROPY
    passes: int = Field(default=1, ge=1)
    batch: int | None = Field(default=None, ge=1)

    @property
    def level(self) -> float:
        """The radius: the field that a curve over levels varies."""
        return self.radius

    def at(self: _A, radius: float) -> _A:
        """The same attack with another radius.

        >>> from noisyrnn.attack import FGSM
        >>> FGSM(radius=0.1).at(0.2).radius
        0.2
        """
        return type(self).model_validate({**self.model_dump(), "radius": radius})

    def __call__(self, network: Network, x: Sequence, y: Labels, generator: torch.Generator | None = None) -> Sequence:
        """x~ of each sample; y holds the true classes, or with ``targeted`` the wanted ones.

        Samples are worked on ``batch`` at a time, all at once by default; that changes nothing but memory.
        """
        if x.ndim != 3 or not x.is_floating_point() or y.shape != x.shape[:1]:
            raise ValueError(
                "An attack takes floating point x of shape (batch, time, feature) and one class a sample, "
                f"got {x.dtype} of shape {tuple(x.shape)} and classes of shape {tuple(y.shape)}."
            )
        self._refuse_outside(x)
        found = torch.empty_like(x)
        with _frozen(network):
            for piece in pieces(len(x), self.batch):
                found[piece] = self._found(network, x[piece].detach(), y[piece], generator)
        return found

    @abstractmethod
    def _found(self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None) -> Tensor: ...

    def _ascent(self, network: Network, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Direction in which the attack gains, and how far it has succeeded (positive: it has)."""
        slope, logits = gradient(network, x, y, loss=self.loss, passes=self.passes)
        return self._side * slope, self._side * excess(logits, y)

    def _gain(self, network: Network, x: Tensor, y: Tensor) -> Tensor:
        return self._side * excess(mean_logits(network, x, self.passes), y)

    @property
    def _side(self) -> int:
        return -1 if self.targeted else 1

    def _inside(self, x: Tensor) -> Tensor:
        if self.bounds is None:
            return x
        low, high = (torch.as_tensor(bound, dtype=x.dtype, device=x.device) for bound in self.bounds)
        return x.clamp(low, high)

    def _refuse_outside(self, x: Tensor) -> None:
        for bound in self.bounds or ():
            if isinstance(bound, tuple) and len(bound) != x.shape[-1]:
                raise ValueError(f"bounds name {len(bound)} features, but x has {x.shape[-1]}; give one number or all.")
        outside = (self._inside(x) != x).nonzero()
        if len(outside):
            sample, time, feature = outside[0].tolist()
            raise ValueError(
                f"x[{sample}, {time}, {feature}] = {float(x[sample, time, feature]):g} lies outside "
                f"bounds={self.bounds}: leave bounds out or give the bounds of these data."
            )


def pieces(samples: int, batch: int | None) -> list[slice]:
    """Slices of at most ``batch`` samples; all at once by default.

    >>> pieces(5, 3)
    [slice(0, 3, None), slice(3, 6, None)]
    """
    size = batch or max(samples, 1)
    return [slice(first, first + size) for first in range(0, samples, size)]


@contextmanager
def _frozen(network: Network) -> Iterator[None]:
    """No gradient for the parameters meanwhile: a third of the work of a backward pass is theirs."""
    flags = [(p, p.requires_grad) for p in network.parameters()] if isinstance(network, nn.Module) else []
    try:
        for parameter, _ in flags:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter, wanted in flags:
            parameter.requires_grad_(wanted)
