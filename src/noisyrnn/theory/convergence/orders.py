r"""Strong and weak order of a scheme, measured: the error at several step sizes under the same Brownian path.

    strong   (E ||h_M - h(T)||^2)^(1/2) <= C dt^gamma          weak   ||E phi(h_M) - E phi(h(T))|| <= C dt^beta

gamma is the least-squares slope of log error against log dt; its standard error comes from resampling the paths. The
truth h(T) is an exact solution on the same path, or the scheme itself on a path several times finer.

What the paper's Section C says: order 1/2, right, if t -> f(h, x_t) is 1/2-Hoelder (its "bounded measurable" is not
enough: see the rough signal in the tests, order 0.2); additive noise has order 1. Its tamed scheme,
d = 1/max(1, c_1 ||h|| + c_2), does not converge to the equation at all, because there is no dt in d.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.sde import SDE, Key, Scheme, coarsen, draw, euler_maruyama, uniform
from noisyrnn.theory.system.paths import double, drives
from noisyrnn.types import State

Signal = Callable[[Tensor], Tensor]
"""x(t): times (steps,) -> (steps, features)."""

Solution = Callable[[Tensor, Tensor], Tensor]
"""Exact h(T), (paths, units), from times (n + 1,) and Brownian paths (n + 1, paths, noises) on the finest grid."""

Observable = Callable[[Tensor], Tensor]
"""phi(h): (paths, units) -> (paths,) or (paths, features)."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """The fitted order, and the errors it was fitted to."""

    order: float
    standard_error: float
    dt: tuple[float, ...]
    errors: tuple[float, ...]
    error_bars: tuple[float, ...]
    expected: float | None
    """What the scheme states for this noise; None for a weak order."""
    label: str


def strong_order(
    sde: SDE,
    scheme: Scheme = euler_maruyama,
    *,
    h0: Tensor,
    horizon: float = 1.0,
    steps: Sequence[int] = (16, 32, 64, 128, 256),
    x: Signal | Tensor | None = None,
    exact: Solution | None = None,
    refinement: int = 8,
    paths: int = 400,
    key: Key | None = None,
) -> Order:
    """gamma of (E ||h_M - h(T)||^2)^(1/2) ~ dt^gamma, with standard error.

    Parameters
    ----------
    sde, scheme
        The system and how it is stepped.
    h0
        Start, (units,).
    horizon
        T.
    steps
        Numbers of steps until T, two or more.
    x
        Input as a function of time, sampled at the left end of each step; or (time, features), held constant between
        its values.
    exact
        The solution; without it the truth is the scheme on the finest grid, whose error makes the order read a little
        high: by 0.02 over the default steps.
    refinement
        How many times finer than the most ``steps`` the grid of the Brownian path is.
    paths
        Brownian paths.
    key
        Of their noise.

    Returns
    -------
    Order

    Examples
    --------
    >>> from noisyrnn.sde import AdditiveNoise, TanhDrift
    >>> drift = TanhDrift(-torch.eye(1), torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1))
    >>> abs(strong_order(SDE(drift, AdditiveNoise(0.5)), h0=torch.ones(1), paths=50).order - 1) < 0.1
    True
    """
    ends, truth = _ends(sde, scheme, h0, horizon, steps, x, exact, refinement, paths, key)
    squares = torch.stack([(end - truth).square().sum(-1) for end in ends])
    return _fit(
        squares.unsqueeze(-1), lambda mean: mean.squeeze(-1).sqrt(), horizon, steps,
        scheme.strong_order(sde.diffusion.coupling), _label("strong", sde, scheme),
    )  # fmt: skip


def weak_order(
    sde: SDE,
    observable: Observable,
    scheme: Scheme = euler_maruyama,
    *,
    h0: Tensor,
    horizon: float = 1.0,
    steps: Sequence[int] = (4, 8, 16, 32),
    x: Signal | Tensor | None = None,
    exact: Solution | None = None,
    refinement: int = 8,
    paths: int = 2000,
    key: Key | None = None,
) -> Order:
    """beta of ||E phi(h_M) - E phi(h(T))|| ~ dt^beta, with standard error.

    Both means are taken over the same paths, so that most of their sampling error cancels; what is left is in the error
    bars, and an order fitted to errors below them means nothing.

    Parameters
    ----------
    sde, scheme, h0, horizon, steps, x, exact, refinement, paths, key
        As for :func:`strong_order`.
    observable
        phi, from states (paths, units) to (paths,) or (paths, features).

    Returns
    -------
    Order

    Examples
    --------
    >>> from noisyrnn.sde import AdditiveNoise, TanhDrift
    >>> drift = TanhDrift(-torch.eye(1), torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1))
    >>> round(weak_order(SDE(drift, AdditiveNoise(0.1)), lambda h: h, h0=torch.ones(1), paths=200).order, 1)
    1.1
    """
    ends, truth = _ends(sde, scheme, h0, horizon, steps, x, exact, refinement, paths, key)
    gaps = torch.stack([(observable(end) - observable(truth)).reshape(paths, -1) for end in ends])
    return _fit(gaps, lambda mean: mean.norm(dim=-1), horizon, steps, None, _label("weak", sde, scheme))


@torch.no_grad()
def end_state(
    sde: SDE, scheme: Scheme, h: State, u: Tensor, dt: Tensor, xi: Tensor | None, uniforms: Tensor | None = None
) -> State:
    """h_M after all steps of a scheme.

    Parameters
    ----------
    sde, scheme
        The system and how it is stepped.
    h
        Start, (paths, units).
    u
        Drives, (steps, drive).
    dt
        Step size.
    xi, uniforms
        Noise (steps, paths, noises) and uniform numbers (steps, paths, units), None where none are needed.

    Returns
    -------
    Tensor
        States (paths, units).

    Examples
    --------
    >>> from noisyrnn.sde import TanhDrift
    >>> drift = TanhDrift(-torch.eye(1), torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1))
    >>> end_state(SDE(drift), euler_maruyama, torch.ones(1, 1), torch.zeros(2, 1), torch.tensor(0.5), None)
    tensor([[0.2500]])
    """
    for m, drive in enumerate(u):
        noise, drawn = None if xi is None else xi[m], None if uniforms is None else uniforms[m]
        h = scheme(sde, h, drive.expand(len(h), -1), dt, noise, drawn)
    return h


def _label(kind: str, sde: SDE, scheme: Scheme) -> str:
    return f"{kind}, {scheme.name}, {str(sde.diffusion.coupling.name).lower()} noise"


def _ends(
    sde: SDE, scheme: Scheme, h0: Tensor, horizon: float, steps: Sequence[int], x: Signal | Tensor | None,
    exact: Solution | None, refinement: int, paths: int, key: Key | None,
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    finest = max(steps) * refinement
    if len(steps) < 2 or any(finest % count for count in steps):
        raise ValueError(f"steps needs two or more numbers that divide the finest grid of {finest}, got {steps}.")
    scheme.check(sde)
    system, key = double(sde), Key(value=0) if key is None else key
    xi = draw(key, paths, finest, system.noises, dtype=torch.float64) if system.noises else None
    start = h0.detach().double().expand(paths, system.units).contiguous()

    def run(count: int) -> Tensor:
        factor, dt = finest // count, torch.tensor(horizon / count, dtype=torch.float64)
        noise = None if xi is None else coarsen(xi, factor)
        uniforms = uniform(key, paths, count, system.units, dtype=torch.float64) if scheme.takes_uniforms else None
        return end_state(system, scheme, start, _sampled_drives(system, x, count, horizon), dt, noise, uniforms)

    if exact is None:
        return [run(count) for count in steps], run(finest)
    times = torch.linspace(0, horizon, finest + 1, dtype=torch.float64)
    increments = start.new_zeros(finest, paths, 0) if xi is None else xi * (horizon / finest) ** 0.5
    brownian = torch.cat((torch.zeros_like(increments[:1]), increments.cumsum(0)))
    return [run(count) for count in steps], exact(times, brownian).expand_as(start)


def _sampled_drives(sde: SDE, x: Signal | Tensor | None, count: int, horizon: float) -> Tensor:
    if x is None:
        return drives(sde, None, None)[0].expand(count, -1)
    if not isinstance(x, Tensor):
        times = torch.arange(count, dtype=torch.float64) * (horizon / count)
        return drives(sde, x(times).unsqueeze(0), None)[0]
    if count % len(x):
        raise ValueError(f"A signal of {len(x)} values needs steps that are multiples of it, got {count}.")
    return drives(sde, x.repeat_interleave(count // len(x), dim=0).unsqueeze(0), None)[0]


def _fit(
    samples: Tensor, error: Callable[[Tensor], Tensor], horizon: float, steps: Sequence[int],
    expected: float | None, label: str, resamples: int = 200,
) -> Order:  # fmt: skip
    """Slope of log error(mean over paths) against log dt; ``samples`` is (levels, paths, features)."""
    if not bool(torch.isfinite(samples).all()):
        raise ValueError("The scheme left the finite numbers on some path; take smaller steps, or the scheme tamed.")
    paths = samples.shape[1]
    dt = horizon / torch.tensor(steps, dtype=torch.float64)
    centred = dt.log() - dt.log().mean()

    def slope(errors: Tensor) -> Tensor:
        return errors.log() @ centred / centred.square().sum()

    errors = error(samples.mean(1))
    chosen = torch.randint(paths, (resamples, paths), generator=torch.Generator().manual_seed(0))
    weights = torch.zeros(resamples, paths, dtype=samples.dtype).scatter_add_(
        1, chosen, samples.new_ones(resamples, paths)
    )
    again = error(torch.einsum("bp,lpf->blf", weights / paths, samples))
    return Order(
        order=float(slope(errors)), standard_error=float(slope(again).std()), dt=tuple(dt.tolist()),
        errors=tuple(errors.tolist()), error_bars=tuple(again.std(0).tolist()), expected=expected, label=label,
    )  # fmt: skip
