"""What attacks have in common: radius, bounds, target, budget, and how a batch is worked on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from noisyrnn.attack.ascent import Network, slopes
from noisyrnn.attack.case import Case
from noisyrnn.attack.draws import Draws, InTurn, Own, fresh_seeds
from noisyrnn.attack.losses import Labels, Loss, excess, height
from noisyrnn.setting import Setting
from noisyrnn.types import Sequence

Finite = Annotated[float, Field(allow_inf_nan=False)]
Bound = Finite | tuple[Finite, ...]

_A = TypeVar("_A", bound="Adversary")
_S = TypeVar("_S", bound="Single")


@dataclass(frozen=True)
class Budget:
    """What an attack spends on a sample at most: forward passes, and backward passes through them.

    >>> Budget(3, 2) + Budget(10, 0)
    Budget(forward=13, backward=2)
    """

    forward: int
    backward: int

    def __add__(self, other: Budget) -> Budget:
        return Budget(self.forward + other.forward, self.backward + other.backward)

    def __mul__(self, times: int) -> Budget:
        return Budget(self.forward * times, self.backward * times)


class Adversary(Setting, ABC):
    """An attack: frozen, keyword-only, and called as ``attack(network, x, y, generator)``."""

    batch: int | None = Field(default=None, ge=1, le=2**24)

    _seeds_samples: ClassVar[bool] = False
    """Whether each sample has a generator of its own, so that others may come and go."""

    @property
    @abstractmethod
    def level(self) -> float:
        """The radius: the field that a curve over levels varies."""

    @property
    @abstractmethod
    def budget(self) -> Budget:
        """Passes that are spent on a sample at most."""

    @abstractmethod
    def at(self: _A, radius: float) -> _A:
        """The same attack with another radius."""

    def __call__(
        self,
        network: Network,
        x: Sequence,
        y: Labels,
        generator: torch.Generator | None = None,
        *,
        lengths: Labels | None = None,
    ) -> Sequence:
        """x~ of each sample; y holds the true classes, or with ``targeted`` the wanted ones.

        Samples are worked on ``batch`` at a time, all at once by default; that changes nothing but memory. With
        ``lengths`` the network is called as ``network(x, lengths=lengths)``, and what lies beyond them stays.
        """
        return self._worked(self._case(network, x, y, generator, lengths))

    def _case(
        self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None, lengths: Tensor | None
    ) -> Case:
        if x.ndim != 3 or not x.is_floating_point() or y.shape != x.shape[:1]:
            raise ValueError(
                "An attack takes floating point x of shape (batch, time, feature) and one class per sample, "
                f"got {x.dtype} of shape {tuple(x.shape)} and classes of shape {tuple(y.shape)}."
            )
        if lengths is not None and lengths.shape != y.shape:
            raise ValueError(f"lengths must name one length per sample, {len(x)}, got shape {tuple(lengths.shape)}.")
        draws: Draws | None = None
        if generator is not None and self._seeds_samples:
            draws = Own(fresh_seeds(generator, len(x)))
        elif generator is not None:
            draws = InTurn(generator, len(x))
        return Case(network=network, x=x.detach(), y=y, lengths=lengths, draws=draws)

    @abstractmethod
    def _worked(self, case: Case) -> Tensor:
        """x~ of all samples, ``batch`` at a time."""


class Single(Adversary, ABC):
    """An attack on one ball: |x~ - x| <= radius, and x~ within the bounds if there are any."""

    radius: float = Field(ge=0, allow_inf_nan=False)
    bounds: tuple[Bound, Bound] | None = None
    targeted: bool = False
    passes: int = Field(default=1, ge=1, le=10_000)

    @property
    @override
    def level(self) -> float:
        return self.radius

    @override
    def at(self: _S, radius: float) -> _S:
        """The same attack with another radius.

        >>> from noisyrnn.attack import FGSM
        >>> FGSM(radius=0.1).at(0.2).radius
        0.2
        """
        return type(self)(**{**self.model_dump(), "radius": radius})

    @override
    def _worked(self, case: Case) -> Tensor:
        self._refuse_outside(case)
        found = torch.empty_like(case.x)
        with _frozen(case.network):
            for piece in case.pieces(self.batch):
                found[piece] = self._found(case.part(piece))
        return found

    @abstractmethod
    def _found(self, case: Case) -> Tensor: ...

    def _gain(self, case: Case, x: Tensor) -> Tensor:
        """How far the attack has succeeded at x: positive where it has."""
        return self._success(case.mean_logits(x, self.passes), case.y)

    def _success(self, logits: Tensor, y: Tensor) -> Tensor:
        return self._side * excess(logits, y)

    @property
    def _side(self) -> int:
        return -1 if self.targeted else 1

    def _inside(self, case: Case, x: Tensor) -> Tensor:
        """x within the bounds, and its padding as it was."""
        if self.bounds is None:
            return x
        low, high = (torch.as_tensor(bound, dtype=x.dtype, device=x.device) for bound in self.bounds)
        return x.clamp(low, high) if case.valid is None else torch.where(case.valid, x.clamp(low, high), case.x)

    def _refuse_outside(self, case: Case) -> None:
        x = case.x
        for bound in self.bounds or ():
            if isinstance(bound, tuple) and len(bound) != x.shape[-1]:
                raise ValueError(f"bounds name {len(bound)} features, but x has {x.shape[-1]}; give one number or all.")
        outside = (self._inside(case, x) != x).nonzero()
        if len(outside):
            sample, time, feature = outside[0].tolist()
            raise ValueError(
                f"x[{sample}, {time}, {feature}] = {float(x[sample, time, feature]):g} lies outside "
                f"bounds={self.bounds}: leave bounds out or give the bounds of these data."
            )


class WhiteBox(Single, ABC):
    """An attack that climbs the gradient of a loss."""

    loss: Loss = Loss.CROSS_ENTROPY

    def _ascent(self, case: Case, x: Tensor, towards: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Direction in which the attack gains, how high it stands, and how far it has succeeded (positive: it has)."""
        slope, risen, logits = slopes(
            case.logits, x, lambda z: self._side * height(z, case.y, self.loss, towards), self.passes
        )
        slope = slope if case.valid is None else slope * case.valid
        return slope, risen, self._success(logits, case.y)


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
