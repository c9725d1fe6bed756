"""Routes through a sequence: the same numbers to rounding, chosen for speed.

``SCAN`` is the reference loop and runs every cell; ``EAGER`` runs the tanh family with gradients by hand. ``AUTO``
takes the fastest that fits. Choose by an argument of the layer's call, or for a stretch of code:

>>> with routed(Route.SCAN):
...     chosen()
<Route.SCAN: 'scan'>
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from noisyrnn.rnn.cell import Cell, NoisePath, SDECell, States
from noisyrnn.rnn.eager import affine_scan
from noisyrnn.rnn.scan import scan_built
from noisyrnn.sde.activation import TANH
from noisyrnn.sde.brownian import Key
from noisyrnn.sde.diffusion import Coupling, DriftNoise, Silence, Strength
from noisyrnn.sde.drift import TanhDrift
from noisyrnn.sde.pace import UniformFactor
from noisyrnn.sde.schemes import euler_maruyama
from noisyrnn.sde.steps import ConstantStep, LearnedStep


class Route(StrEnum):
    """How a sequence is run."""

    AUTO = "auto"
    EAGER = "eager"
    SCAN = "scan"


_chosen: ContextVar[Route] = ContextVar("route", default=Route.AUTO)


def chosen() -> Route:
    """The route in force."""
    return _chosen.get()


@contextmanager
def routed(route: Route) -> Iterator[None]:
    """Run every layer inside the ``with`` block by ``route``."""
    token = _chosen.set(route)
    try:
        yield
    finally:
        _chosen.reset(token)


def run(
    cell: Cell,
    x: Tensor,
    states: States,
    *,
    key: Key | None = None,
    dt: Tensor | None = None,
    lengths: Tensor | None = None,
    route: Route | None = None,
) -> tuple[Tensor, States]:
    """Outputs (time, batch, units) and last states; noise is on where a ``key`` is given."""
    built = cell.built(noisy=key is not None)
    route = chosen() if route is None else route
    family = None if route is Route.SCAN else tanh_family(built, dt)
    if family is not None and x.shape[0] > 0:
        return _eager(built, family, x, states, key, dt, lengths)
    if route is Route.EAGER:
        raise ValueError(f"The eager route runs the tanh family only, not this {type(cell).__name__}; use Route.SCAN.")
    path = None if key is None else cell.path(key, x.shape[1], x.shape[0], x)
    return scan_built(built, x, states, path=path, dt=dt, lengths=lengths)


@dataclass(frozen=True)
class TanhFamily:
    """What the fast routes need of a cell: its drift, its step, and how noise of each kind enters."""

    drift: TanhDrift
    length: ConstantStep | LearnedStep | None
    additive: Strength | None = None
    multiplicative: Strength = 0.0
    released: bool = False


def tanh_family(cell: Cell, dt: Tensor | None) -> TanhFamily | None:
    """The cell as a member of the tanh family, or None where it is not one."""
    if not isinstance(cell, SDECell) or cell.substeps != 1:
        return None
    drift, diffusion, pace = cell.sde.drift, cell.sde.diffusion, cell.scheme.pace
    length = cell.length if isinstance(cell.length, ConstantStep | LearnedStep) else None
    if type(drift) is not TanhDrift or drift.activation != TANH:
        return None
    if length is None and dt is None:
        return None
    released = isinstance(pace, UniformFactor) and not cell.scheme.rooted
    if cell.scheme is not euler_maruyama and not released:
        return None
    factor = pace.multiplicative if released and isinstance(pace, UniformFactor) else 0.0
    if isinstance(diffusion, Silence):
        return TanhFamily(drift, length, None, factor, released)
    if not isinstance(diffusion, DriftNoise):
        return None
    additive = diffusion.epsilon * diffusion.additive
    if released or diffusion.coupling is not Coupling.COUPLED:
        return TanhFamily(drift, length, additive, factor, released)
    return TanhFamily(drift, length, additive, diffusion.epsilon * diffusion.multiplicative)


def _eager(
    cell: Cell,
    family: TanhFamily,
    x: Tensor,
    states: States,
    key: Key | None,
    dt: Tensor | None,
    lengths: Tensor | None,
) -> tuple[Tensor, States]:
    (h,) = states
    steps, batch, _ = x.shape
    length = family.length(h, lambda: h) if dt is None and family.length is not None else dt
    path = None if key is None else cell.path(key, batch, steps, x)
    alpha, beta = (_over_time(each, steps) for each in _coefficients(family, length, path))  # type: ignore[arg-type]
    if lengths is not None:
        valid = (torch.arange(steps, device=x.device).unsqueeze(-1) < lengths).unsqueeze(-1)
        alpha, beta = torch.where(valid, alpha, 0), torch.where(valid, beta, 0)
    drift = family.drift
    outputs = affine_scan(drift.encode(x), h, drift.A, drift.W, alpha, beta)
    return outputs, (outputs[-1],)


def _coefficients(family: TanhFamily, dt: Tensor, path: NoisePath | None) -> tuple[Tensor, Tensor]:
    """alpha and beta of the affine step."""
    xi, chance = (None, None) if path is None else path
    alpha, beta = dt, dt.new_zeros(())
    if family.released:
        if chance is not None:
            alpha = dt * (1 - family.multiplicative + family.multiplicative * chance)
        if xi is not None and family.additive is not None:
            beta = family.additive * xi
    elif xi is not None and family.additive is not None:
        root = dt.sqrt()
        beta = root * family.additive * xi
        if isinstance(family.multiplicative, Tensor) or family.multiplicative != 0:
            alpha = dt + root * family.multiplicative * xi
    return alpha, beta


def _over_time(value: Tensor, steps: int) -> Tensor:
    """A scalar, a vector over units, or (time, ...) as (time, 1 or batch, 1 or units)."""
    return (value if value.ndim == 3 else value.reshape(1, 1, -1)).expand(steps, -1, -1)
