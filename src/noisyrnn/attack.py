r"""Worst-case perturbations: x~ with |x~ - x| <= r that makes a network err, found by gradient ascent.

    FGSM   x~ = x + r sign(g),  g = dL/dx at (x, y)
    PGD    x_{k+1} = P(x_k + s d(g_k)),  d = sign(g) or g / |g|_2,  P the projection on the ball

(Goodfellow, Shlens, Szegedy 2015, the paper's; Madry, Makelov, Schmidt, Tsipras, Vladu 2018.) For a
stochastic network, ``passes`` forward passes estimate the gradient of E[L] (expectation over noise: Athalye,
Engstrom, Ilyas, Kwok 2018). A network is any callable from x (batch, time, feature) to logits.

Only dL/dx is asked for: the mode of the network and the ``.grad`` of its parameters are not touched, and
whether its noise is on is the caller's choice. Nothing is clamped unless ``bounds`` is given. Where a
gradient is not a number, the coordinate stays.

Rounding: x~ lies in its ball up to 2 eps (r + max|x|) for linf, and sqrt(time feature) times that for l2,
where eps is the spacing of the precision at 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from noisyrnn.setting import Norm, Setting
from noisyrnn.types import Sequence

Network = Callable[[Tensor], Tensor]
Labels = Int[Tensor, " batch"]
Logits = Float[Tensor, "batch classes"]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Bound = Finite | tuple[Finite, ...]


class Loss(StrEnum):
    """What is driven up: the cross-entropy, or the excess of another logit, which does not saturate."""

    CROSS_ENTROPY = "cross-entropy"
    EXCESS = "excess"


class Keep(StrEnum):
    """Which iterate is returned: the worst of each sample, the clean one among them, or the last."""

    WORST = "worst"
    LAST = "last"


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
            heights = excess(logits, y) if loss is Loss.EXCESS else _cross_entropy(logits, y)
            height = heights.sum()
        if not height.requires_grad:
            raise ValueError("An attack needs logits that are differentiable in x, but the network detaches x.")
        slopes.append(torch.autograd.grad(height, point)[0])
        means.append(logits.detach())
    return torch.nan_to_num(sum(slopes[1:], slopes[0]) / passes), sum(means[1:], means[0]) / passes


def projection(x: Sequence, centre: Sequence, radius: float, norm: Norm) -> Sequence:
    """The point of the ball around ``centre`` that is nearest to x (coordinatewise or along the ray).

    >>> projection(torch.full((1, 2, 1), 3.0), torch.zeros(1, 2, 1), 1.0, Norm.L2).flatten()
    tensor([0.7071, 0.7071])
    """
    away = x - centre
    if norm is Norm.LINF:
        return centre + away.clamp(-radius, radius)
    return centre + away * (radius / _length(away)).clamp(max=1)


class _Attack(Setting, ABC):
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
            for piece in _pieces(len(x), self.batch):
                found[piece] = self._found(network, x[piece].detach(), y[piece], generator)
        return found

    @abstractmethod
    def _found(self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None) -> Tensor: ...

    def _ascent(self, network: Network, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Direction in which the attack gains, and how far it has succeeded (positive: it has)."""
        slope, logits = gradient(network, x, y, loss=self.loss, passes=self.passes)
        side = -1 if self.targeted else 1
        return side * slope, side * excess(logits, y)

    def _gain(self, network: Network, x: Tensor, y: Tensor) -> Tensor:
        return (-1 if self.targeted else 1) * excess(_mean_logits(network, x, self.passes), y)

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


class FGSM(_Attack):
    """x + radius sign(dL/dx): one step, exact when the loss is linear over the ball.

    >>> FGSM(radius=0.1)(lambda x: x[:, -1] * torch.tensor([1.0, -1.0]),
    ...     torch.zeros(1, 2, 2), torch.tensor([0])).tolist()
    [[[0.0, 0.0], [-0.1..., -0.1...]]]
    """

    kind: Literal["fgsm"] = "fgsm"

    @override
    def _found(self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None) -> Tensor:
        slope, _ = self._ascent(network, x, y)
        return self._inside(x + self.radius * slope.sign())


class PGD(_Attack):
    """Projected gradient ascent on the ball, for each sample the worst point over all restarts and steps.

    The step is ``step`` or else 2.5 radius / steps, which can cross the ball. Random starts are uniform.

    >>> attack = PGD(radius=0.5, norm=Norm.L2, steps=5)
    >>> x = torch.zeros(1, 2, 2)
    >>> found = attack(lambda x: x[:, -1] * x.new_tensor([1, -1]), x, torch.tensor([0]), torch.Generator())
    >>> bool((found - x).norm() <= 0.5 + 1e-6)
    True
    """

    kind: Literal["pgd"] = "pgd"
    norm: Norm = Norm.LINF
    steps: int = Field(default=40, ge=1)
    step: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    restarts: int = Field(default=1, ge=1)
    random_start: bool = True
    keep: Keep = Keep.WORST

    @model_validator(mode="after")
    def _restarts_differ(self: _P) -> _P:
        if self.restarts > 1 and not self.random_start:
            raise ValueError(f"{self.restarts} restarts need random_start=True: without it they are all the same.")
        return self

    @override
    def _found(self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None) -> Tensor:
        worst, gained = x.clone(), x.new_full((len(x),), -torch.inf)
        if self.keep is Keep.WORST:
            gained = self._gain(network, x, y)
        for start in self._starts(x, generator):
            for point, gain in self._candidates(network, x, y, start):
                better = gain > gained
                worst = torch.where(better[:, None, None], point, worst)
                gained = torch.where(better, gain, gained)
        return worst

    def _candidates(self, network: Network, x: Tensor, y: Tensor, start: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        step = 2.5 * self.radius / self.steps if self.step is None else self.step
        point = start
        for _ in range(self.steps):
            slope, gain = self._ascent(network, point, y)
            if self.keep is Keep.WORST:
                yield point, gain
            point = point + step * (slope.sign() if self.norm is Norm.LINF else _direction(slope))
            point = self._inside(projection(point, x, self.radius, self.norm))
        yield point, self._gain(network, point, y)

    def _starts(self, x: Tensor, generator: torch.Generator | None) -> list[Tensor]:
        if not self.random_start:
            return [x]
        if generator is None:
            raise ValueError("A random start needs a torch.Generator: give one, or set random_start=False.")
        # All numbers of a sample are drawn together, so that the size of a batch does not change them.
        numbers = x[0].numel()
        shape = (len(x), self.restarts, 1 + numbers)
        u = torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64).to(x.device)
        if self.norm is Norm.LINF:
            offsets = 2 * u[..., 1:] - 1
        else:
            normal = torch.special.ndtri(u[..., 1:].clamp(min=2.0**-53))
            offsets = u[..., :1] ** (1 / numbers) * normal / normal.norm(dim=-1, keepdim=True)
        offsets = self.radius * offsets.reshape(len(x), self.restarts, *x.shape[1:])
        near = x[:, None] + offsets.to(x.dtype)
        return [self._inside(projection(start, x, self.radius, self.norm)) for start in near.unbind(1)]


Attack = Annotated[FGSM | PGD, Field(discriminator="kind")]
"""Any attack; in JSON the field ``kind`` tells which."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Which samples survive at which radius; a sample that fell stays fallen at every larger radius."""

    radii: tuple[float, ...]
    survives: Bool[Tensor, "radii batch"]

    @property
    def accuracy(self) -> tuple[float, ...]:
        """Share of the samples that survive at each radius: never rises."""
        return tuple(self.survives.double().mean(dim=1).tolist())


def curve(
    attack: FGSM | PGD,
    network: Network,
    x: Sequence,
    y: Labels,
    *,
    radii: tuple[float, ...],
    generator: torch.Generator | None = None,
) -> Curve:
    """Robust accuracy against the radius: balls are nested, so the worst case of a sample only gets worse.

    >>> line = lambda x: x[:, -1] * torch.tensor([1.0, -1.0])
    >>> x = torch.tensor([[[0.3, 0.3]], [[0.1, 0.1]]])
    >>> curve(FGSM(radius=0), line, x, torch.tensor([0, 0]), radii=(0.0, 0.2, 0.4)).accuracy
    (1.0, 0.5, 0.0)
    """
    if attack.targeted or list(radii) != sorted(radii):
        raise ValueError(f"A curve needs an attack without target and rising radii, got {attack!r} and {radii}.")
    standing = torch.ones(len(x), dtype=torch.bool, device=x.device)
    rows = []
    for radius in radii:
        left = standing.nonzero()[:, 0]
        found = attack.at(radius)(network, x[left], y[left], generator) if radius and len(left) else x[left]
        standing = standing.clone()
        for piece in _pieces(len(left), attack.batch):
            standing[left[piece]] = _mean_logits(network, found[piece], attack.passes).argmax(dim=1) == y[left[piece]]
        rows.append(standing)
    return Curve(radii=tuple(radii), survives=torch.stack(rows) if rows else standing[None, :][:0])


_A = TypeVar("_A", bound=_Attack)
_P = TypeVar("_P", bound=PGD)


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


def _pieces(samples: int, batch: int | None) -> list[slice]:
    size = batch or max(samples, 1)
    return [slice(first, first + size) for first in range(0, samples, size)]


def _cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits, y, reduction="none")


@torch.no_grad()
def _mean_logits(network: Network, x: Tensor, passes: int) -> Tensor:
    return torch.stack([network(x) for _ in range(passes)]).mean(dim=0)


def _length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1).clamp(min=torch.finfo(x.dtype).tiny)[:, None, None]


def _direction(slope: Tensor) -> Tensor:
    """g / |g|_2, and 0 where g = 0; scaled first, so that squares neither overflow nor vanish."""
    largest = slope.abs().amax(dim=(1, 2), keepdim=True).clamp(min=torch.finfo(slope.dtype).tiny)
    scaled = slope / largest
    return scaled / _length(scaled)
