r"""Stability beyond exponents: the stochastic Lyapunov theorem, stability in probability, the deterministic condition.

Theorem (Mao 2007, Theorems 4.3.3 and 4.3.5; the paper's Section G). For differences e of two solutions let

    c_1 ||e||^p <= V <= C_1 ||e||^p,   c_2 V <= LV <= C_2 V,   c_3 V^2 <= ||V_e dg||^2 <= C_3 V^2,
    LV = V_e df + tr(dg^T V_ee dg)/2.        Then  (2 c_2 - C_3)/(2 p) <= Lambda <= (2 C_2 - c_3)/(2 p).

The theorem is right as printed (there with p = 2, and with a V that may depend on time). What the paper then puts in
for c_3 is not: see :mod:`noisyrnn.theory.stability.exponent_bounds`. Taking the extremes of
LV/V - ||V_e dg||^2/(2 V^2) together is never worse. Constants found over a sample of states are estimates, not proofs,
and are labelled so.

Lipschitz RNN (Erichson et al. 2021, Theorem 1 a): without noise, if A^sym is negative definite and
sigma_min(A^sym) > L_a sigma_max(W), all differences die out at least as fast as exp((lambda_max(A^sym) + L_a ||W||) t).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import scipy  # its parts are loaded where they are used: together they take a second
import torch
from torch import Tensor

from noisyrnn.sde import SDE, Drift, Key, Scheme, draw, euler_maruyama
from noisyrnn.theory.stability.secant_bounds import Interval, Secants, spectral_norm
from noisyrnn.theory.system.paths import double, drives, noises
from noisyrnn.types import Sequence, State

LyapunovFunction = Callable[[Tensor], Tensor]
"""V(e): (units,) -> a number; it must be twice differentiable away from 0."""


@dataclass(frozen=True, kw_only=True)
class LyapunovEstimate:
    """Constants of the stochastic Lyapunov theorem over the given states, and what they would imply for Lambda.

    An estimate: the extremes of a sample. It becomes a proof only with an argument for all other states.
    """

    size: Interval
    """[c_1, C_1]"""
    drift: Interval
    """[c_2, C_2]"""
    noise: Interval
    """[c_3, C_3]"""
    exponent: Interval
    """The theorem's interval for Lambda."""
    joint: Interval
    """The tighter interval from LV/V - ||V_e dg||^2/(2 V^2)."""
    samples: int


@dataclass(frozen=True, kw_only=True)
class Frequency:
    """A probability estimated by counting, with the exact (Clopper-Pearson) confidence interval."""

    value: float
    interval: Interval
    confidence: float
    samples: int


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Whether a sufficient condition holds, by how much, and the rate it proves."""

    holds: bool
    margin: float
    rate: float


def lyapunov_function(
    V: LyapunovFunction, sde: SDE, h: State, e: State, x: Tensor | None = None, *, p: float = 2.0
) -> LyapunovEstimate:
    """c_1, C_1, c_2, C_2, c_3, C_3 of V by automatic differentiation, over the given states and differences.

    Parameters
    ----------
    V
        A function of one difference.
    sde
        The system.
    h, e
        States and differences, both (n, units).
    x
        Input at each state, (n, features), zero by default.
    p
        Power of ||e|| that V is compared with.

    Returns
    -------
    LyapunovEstimate

    Examples
    --------
    >>> from noisyrnn.sde import CommonNoise, TanhDrift
    >>> drift = TanhDrift(A=torch.tensor([[0.5]]), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> e = torch.tensor([[1.0], [-2.0]])
    >>> lyapunov_function(lambda e: e.square().sum(), SDE(drift, CommonNoise(1.5)), torch.zeros(2, 1), e).exponent
    Interval(lo=-0.625, hi=-0.625)
    """
    system, h, e = double(sde), h.detach().double(), e.detach().double()
    norm = e.norm(dim=-1)
    if bool((norm == 0).any()):
        raise ValueError("The theorem is about differences e != 0, got one that is zero; leave it out.")
    u = drives(system, None if x is None else x.unsqueeze(1), len(h))[:, 0]
    with torch.no_grad():
        f, f_moved = system.drift(h, u), system.drift(h + e, u)
        df = f_moved - f
        dg = system.diffusion.matrix(h + e, f_moved) - system.diffusion.matrix(h, f)
    value = torch.func.vmap(V)(e)
    gradient = torch.func.vmap(torch.func.grad(V))(e)
    curvature = torch.func.vmap(torch.func.jacrev(torch.func.grad(V)))(e)
    if bool((value <= 0).any()):
        raise ValueError(f"A Lyapunov function is positive away from 0, got the value {float(value.min())}.")
    generator = (gradient * df).sum(-1) + torch.einsum("nik,nij,njk->n", dg, curvature, dg) / 2
    drift = generator / value
    noise = torch.einsum("ni,nik->nk", gradient, dg).square().sum(-1) / value.square()
    c2, c3 = _range(drift), _range(noise)
    return LyapunovEstimate(
        size=_range(value / norm**p), drift=c2, noise=c3,
        exponent=Interval((2 * c2.lo - c3.hi) / (2 * p), (2 * c2.hi - c3.lo) / (2 * p)),
        joint=_range((drift - noise / 2) / p), samples=len(e),
    )  # fmt: skip


@torch.no_grad()
def stability_in_probability(
    sde: SDE,
    x: Sequence | None = None,
    *,
    start: float,
    radius: float,
    dt: float | Tensor,
    steps: int | None = None,
    samples: int = 1000,
    confidence: float = 0.95,
    scheme: Scheme = euler_maruyama,
    h0: State | None = None,
    key: Key | None = None,
) -> Frequency:
    """P(||e_t|| < radius for all t <= T) for differences that start with norm ``start`` in a random direction.

    Both solutions see the same noise and input; what happens after T is not seen.

    Parameters
    ----------
    sde, x
        The system and its input, (batch, time, features), zero if None.
    start, radius
        Norm of the difference at the start, and what it must stay below.
    dt
        Step size, a number or one per unit.
    steps
        Steps until T; the length of x by default.
    samples
        Paths, where x does not say how many.
    confidence
        Of the interval.
    scheme
        How the system is stepped.
    h0
        Start of the first solution, zero by default.
    key
        Of the noise and the directions.

    Returns
    -------
    Frequency

    Examples
    --------
    >>> from noisyrnn.sde import TanhDrift
    >>> drift = TanhDrift(A=-torch.eye(2), W=torch.zeros(2, 2), U=torch.zeros(2, 1), b=torch.zeros(2))
    >>> stability_in_probability(SDE(drift), start=0.1, radius=0.2, dt=0.1, steps=50, samples=10).value
    1.0
    """
    if not 0 < start < radius or not 0 < confidence < 1:
        raise ValueError(f"Give 0 < start < radius and 0 < confidence < 1, got {start=}, {radius=}, {confidence=}.")
    if steps is None and x is None:
        raise ValueError("Without an input x the horizon is open; give steps.")
    system, step = double(sde), torch.as_tensor(dt, dtype=torch.float64)
    scheme.check(system)
    u = drives(system, x, samples if x is None or x.shape[0] == 1 else None)
    n, T = u.shape[:2]
    steps = T if steps is None else steps
    key = Key(value=0) if key is None else key
    h = torch.zeros(n, system.units, dtype=torch.float64) if h0 is None else h0.double().expand(n, system.units)
    direction = draw(key.at(layer=1), n, 1, system.units, dtype=torch.float64)[0]
    other = h + start * direction / direction.norm(dim=-1, keepdim=True)
    inside = torch.ones(n, dtype=torch.bool)
    for m, (xi, uniforms) in enumerate(noises(system, scheme, key, samples=n, steps=steps)):
        h, other = (scheme(system, state, u[:, m % T], step, xi, uniforms) for state in (h, other))
        inside &= (other - h).norm(dim=-1) < radius
    return _frequency(int(inside.sum()), n, confidence)


def lipschitz_rnn_condition(drift: Drift) -> Condition:
    """sigma_min(A^sym) > L_a sigma_max(W) with A^sym negative definite: the noise-free network forgets.

    >>> from noisyrnn.sde import TanhDrift
    >>> lipschitz_rnn_condition(TanhDrift(-2 * torch.eye(2), torch.eye(2), torch.ones(2, 1), torch.zeros(2)))
    Condition(holds=True, margin=1.0, rate=-1.0)
    """
    secants = Secants.of(drift)
    rates = torch.linalg.eigvalsh((secants.A + secants.A.mT) / 2)
    push = secants.lipschitz * spectral_norm(secants.W)
    margin = float(rates.abs().min()) - push
    return Condition(holds=bool(rates[-1] < 0) and margin > 0, margin=margin, rate=float(rates[-1]) + push)


def _frequency(successes: int, trials: int, confidence: float) -> Frequency:
    tail = (1 - confidence) / 2
    low = float(scipy.stats.beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    high = float(scipy.stats.beta.ppf(1 - tail, successes + 1, trials - successes)) if successes < trials else 1.0
    return Frequency(
        value=successes / trials, interval=Interval(low, high), confidence=confidence, samples=trials
    )  # fmt: skip


def _range(values: Tensor) -> Interval:
    return Interval(float(values.min()), float(values.max()))
