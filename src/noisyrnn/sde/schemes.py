r"""Schemes: one step of size dt for dh = f dt + g dB. Each states order, calculus and the noise it is right for.

A scheme is a function of (sde, h, u, dt, xi) with facts attached; with strong order p its mean error along one noise
path falls as dt^p. A wrong combination is refused when scheme and system meet, in a cell (``rnn.sde_cell``):

    Milstein with the diagonal formula is wrong where g_i depends on all of h, as the paper's own noise does;
    Heun converges to the Stratonovich solution, which is another process than the Ito one unless g is constant;
    a square root of dt needs a dt that cannot become negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from noisyrnn.sde.convention import Convention, NoiseLaw
from noisyrnn.sde.diffusion import Coupling, Diffusion
from noisyrnn.sde.drift_factor import AsPrinted, DriftFactor, HutzenthalerJentzenKloeden, UniformFactor
from noisyrnn.sde.steps import StepSize
from noisyrnn.sde.system import SDE, Calculus
from noisyrnn.types import Drive, Dt, Noise, State

Advance = Callable[..., State]


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A step function and what is true of it."""

    name: str
    advance: Advance
    calculus: Calculus
    handles: Coupling
    order: float | None
    """Strong order for the roughest noise it handles; None where it does not converge to the stated system."""
    order_for: Mapping[Coupling, float] = field(default_factory=dict)
    """Strong orders for gentler noise."""
    rooted: bool = True
    """Whether it takes the square root of dt."""
    drift_factor: DriftFactor | None = None
    convention: Convention | None = None
    """Which reading of g = sigma_1 I + sigma_2 diag f it is; None where it is neither."""
    multiplicative: float = 0.0
    """m, where the noise on the drift is the scheme's own."""
    made_by: tuple[Callable[..., Scheme], tuple[Any, ...]] | None = field(default=None, repr=False, compare=False)
    """The call that gives this scheme, where it is no module's own name."""

    @property
    def takes_uniforms(self) -> bool:
        """Whether it needs uniform random numbers beside the Gaussian ones."""
        return self.drift_factor is not None and self.drift_factor.takes_uniforms

    def strong_order(self, coupling: Coupling) -> float | None:
        """Strong order on noise of this coupling."""
        return self.order_for.get(coupling, self.order)

    def quiet(self) -> Scheme:
        """The same scheme with its random factor switched off."""
        return euler_maruyama if self.takes_uniforms else self

    def noise_law(self, diffusion: Diffusion) -> NoiseLaw | None:
        """The noise of this scheme and diffusion in the words of one of the paper's conventions, if it has such."""
        strengths = diffusion.strengths()
        if self.convention is None or strengths is None:
            return None
        additive, multiplicative = strengths
        own = self.convention is Convention.RELEASED
        return NoiseLaw(
            convention=self.convention, additive=additive, multiplicative=self.multiplicative if own else multiplicative
        )

    def check(self, sde: SDE, step: StepSize | None = None) -> None:
        """Refuse a system or step size that this scheme is wrong for."""
        coupling = sde.diffusion.coupling
        if coupling not in self.handles:
            raise ValueError(
                f"Scheme {self.name} is not right for {coupling.name} noise ({type(sde.diffusion).__name__}): "
                f"it handles {_named(self.handles)}. {self._remedy(coupling)}"
            )
        agree = coupling in Coupling.SILENT | Coupling.ADDITIVE
        if sde.calculus is not self.calculus and not agree:
            raise ValueError(
                f"Scheme {self.name} solves {self.calculus.value} equations but the system is meant in the "
                f"{sde.calculus.value} sense; use {_PARTNER[sde.calculus]}, or declare "
                f"SDE(..., calculus=Calculus.{self.calculus.name}) if that is what you mean."
            )
        if self.rooted and step is not None and not step.positive and coupling is not Coupling.SILENT:
            raise ValueError(
                f"Scheme {self.name} takes the square root of dt, which a freely learned step can make negative; "
                "use LearnedStep(..., positive=True)."
            )

    def _remedy(self, coupling: Coupling) -> str:
        if coupling is Coupling.COUPLED:
            return "Use euler_maruyama, which is right for any noise."
        return "Use euler_maruyama, or choose a diffusion that it handles."

    def __call__(self, sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None, uniforms: Tensor | None = None) -> State:
        """State after one step: xi is standard normal, ``uniforms`` uniform on [0, 1) where the scheme needs it."""
        if self.drift_factor is not None:
            return self.advance(sde, h, u, dt, xi, self.drift_factor, uniforms)
        return self.advance(sde, h, u, dt, xi)

    def __repr__(self) -> str:
        return f"<scheme {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # As it was made: its function cannot be found by name, because the name is the scheme's.
        return self.made_by or (_scheme_of, (self.advance.__module__, self.advance.__qualname__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Scheme:
        return self


def scheme(
    *,
    order: float | None,
    calculus: Calculus,
    handles: Coupling,
    order_for: Mapping[Coupling, float] | None = None,
    rooted: bool = True,
    convention: Convention | None = None,
) -> Callable[[Advance], Scheme]:
    """State the facts of a step function, and make a :class:`Scheme` of it; each fact is a field there.

    >>> @scheme(order=0.5, calculus=Calculus.ITO, handles=Coupling.any())
    ... def my_scheme(sde, h, u, dt, xi):
    ...     f = sde.drift(h, u)
    ...     return h + f * dt + sde.diffusion(h, f, xi) * dt.sqrt()
    >>> my_scheme.name
    'my_scheme'
    """

    def stated(advance: Advance) -> Scheme:
        return Scheme(
            name=advance.__name__, advance=advance, order=order, calculus=calculus, handles=handles,
            order_for=order_for or {}, rooted=rooted, convention=convention,
        )  # fmt: skip

    return stated


@scheme(
    order=0.5, order_for={Coupling.ADDITIVE: 1.0}, calculus=Calculus.ITO, handles=Coupling.any(),
    convention=Convention.ITO,
)  # fmt: skip
def euler_maruyama(sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None) -> State:
    """h + f dt + g sqrt(dt) xi."""
    f = sde.drift(h, u)
    return h + f * dt if xi is None else h + f * dt + sde.diffusion(h, f, xi) * dt.sqrt()


@scheme(
    order=1.0,
    calculus=Calculus.ITO,
    handles=Coupling.SILENT | Coupling.ADDITIVE | Coupling.DIAGONAL | Coupling.COMMON,
)
def milstein(sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None) -> State:
    """h + f dt + g sqrt(dt) xi + (g' g) (xi^2 - 1) dt / 2, where g' g is the derivative of g along itself.

    One formula serves diagonal noise and one common Brownian motion: in both, g(h) 1 is a vector field whose derivative
    along itself has no mixed terms.
    """
    plain = euler_maruyama(sde, h, u, dt, xi)
    if xi is None or sde.diffusion.coupling is Coupling.ADDITIVE:
        return plain
    ones = torch.ones_like(xi)

    def field_of_noise(state: Tensor) -> Tensor:
        return sde.diffusion(state, sde.drift(state, u), ones)

    along_itself = torch.func.jvp(field_of_noise, (h,), (field_of_noise(h),))[1]
    return plain + along_itself * (xi.square() - 1) * dt / 2


@scheme(
    order=0.5,
    order_for={Coupling.ADDITIVE: 1.0, Coupling.DIAGONAL: 1.0, Coupling.COMMON: 1.0},
    calculus=Calculus.STRATONOVICH,
    handles=Coupling.any(),
)
def heun(sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None) -> State:
    """h + (f + f~) dt / 2 + (g + g~) sqrt(dt) xi / 2 with f~, g~ at the Euler point: Stratonovich."""
    f = sde.drift(h, u)
    if xi is None:
        return h + (f + sde.drift(h + f * dt, u)) * dt / 2
    root = dt.sqrt()
    kick = sde.diffusion(h, f, xi)
    ahead = h + f * dt + kick * root
    f_ahead = sde.drift(ahead, u)
    return h + (f + f_ahead) * dt / 2 + (kick + sde.diffusion(ahead, f_ahead, xi)) * root / 2


@scheme(order=0.5, order_for={Coupling.ADDITIVE: 1.0}, calculus=Calculus.ITO, handles=Coupling.any())
def increment_tamed(sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None) -> State:
    """h + D / max(1, dt ||D||), D = f dt + g sqrt(dt) xi (Hutzenthaler and Jentzen 2015)."""
    increment = euler_maruyama(sde, h, u, dt, xi) - h
    return h + increment / (dt * increment.norm(dim=-1, keepdim=True)).clamp(min=1)


def adaptive(factor: DriftFactor) -> Scheme:
    """h + d * f dt + g sqrt(dt) xi, with d from ``factor``: the paper's general adaptive form.

    >>> from noisyrnn.sde.drift_factor import StochasticDepth
    >>> adaptive(StochasticDepth(0.1)).takes_uniforms
    True
    """
    return Scheme(
        name=f"adaptive({factor})", advance=_adaptive_advance, order=0.5 if factor.vanishes else None,
        order_for={Coupling.ADDITIVE: 1.0} if factor.vanishes else {},
        calculus=Calculus.ITO, handles=Coupling.any(), drift_factor=factor,
        made_by=(adaptive, (factor,)),
    )  # fmt: skip


def released(multiplicative: float) -> Scheme:
    """h + dt (1 - m + m U) f + sigma xi, U uniform on [0, 1): what the paper's authors released.

    The additive noise is *not* scaled by sqrt(dt) and the multiplicative one is uniform with mean 1 - m / 2, so this is
    a network with noise, not a scheme that converges as dt -> 0. The strengths in the paper's tables are meant so.

    >>> released(0.02).order is None
    True
    """
    return Scheme(
        name=f"released({multiplicative})", advance=_released_advance, order=None, calculus=Calculus.ITO,
        handles=Coupling.SILENT | Coupling.ADDITIVE, rooted=False, drift_factor=UniformFactor(multiplicative),
        convention=Convention.RELEASED, multiplicative=multiplicative, made_by=(released, (multiplicative,)),
    )  # fmt: skip


def _scheme_of(module: str, name: str) -> Scheme:
    found: Scheme = attrgetter(name)(import_module(module))
    return found


def _adaptive_advance(
    sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None, factor: DriftFactor, uniforms: Tensor | None
) -> State:
    f = sde.drift(h, u)
    moved = h + factor(h, f, dt, uniforms) * f * dt
    return moved if xi is None else moved + sde.diffusion(h, f, xi) * dt.sqrt()


def _released_advance(
    sde: SDE, h: State, u: Drive, dt: Dt, xi: Noise | None, factor: DriftFactor, uniforms: Tensor | None
) -> State:
    f = sde.drift(h, u)
    moved = h + dt * factor(h, f, dt, uniforms) * f
    return moved if xi is None else moved + sde.diffusion(h, f, xi)


tamed = adaptive(HutzenthalerJentzenKloeden())
"""h + f dt / (1 + dt ||f||) + g sqrt(dt) xi: the drift-tamed scheme that converges."""


def tamed_as_printed(c1: float, c2: float) -> Scheme:
    """h + f dt / max(1, c1 ||h|| + c2) + g sqrt(dt) xi: the paper's display, which does not converge to its equation.

    The factor has no dt in it, so it does not tend to 1 with dt; the limit has the drift divided by it.

    >>> tamed_as_printed(0.5, 1.0).order is None
    True
    """
    return adaptive(AsPrinted(c1, c2))


class SchemeName(StrEnum):
    """The schemes that a setting can name."""

    EULER_MARUYAMA = "euler-maruyama"
    MILSTEIN = "milstein"
    HEUN = "heun"
    TAMED = "tamed"
    INCREMENT_TAMED = "increment-tamed"

    @property
    def scheme(self) -> Scheme:
        return _NAMED[self]


_NAMED = {
    SchemeName.EULER_MARUYAMA: euler_maruyama,
    SchemeName.MILSTEIN: milstein,
    SchemeName.HEUN: heun,
    SchemeName.TAMED: tamed,
    SchemeName.INCREMENT_TAMED: increment_tamed,
}
_PARTNER = {Calculus.ITO: "euler_maruyama", Calculus.STRATONOVICH: "heun"}


def _named(couplings: Coupling) -> str:
    return ", ".join(str(coupling.name) for coupling in couplings)
