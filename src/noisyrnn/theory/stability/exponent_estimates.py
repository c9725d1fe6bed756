r"""Sample Lyapunov exponents by tangent dynamics: how fast neighbouring states part, measured along a path.

    V <- J_m V,   Q R = V,   S_i += log|R_ii|,   V <- Q;        Lambda_i = S_i / (M dt)      (Benettin et al. 1980)

J_m is the Jacobian of the scheme's step, noise and per-unit steps included. From each log|R_ii| the kick's q_i . kick_i
is taken off (see :mod:`noisyrnn.theory.stability.tangent_dynamics`): its mean is exactly zero, and the standard error
falls several times. The estimate is that of the *map*; its distance to the exponent of the differential equation is
O(dt), which :func:`extrapolated_spectrum` takes out to first order.

Not used, because they fail: finite perturbations without renormalisation (they underflow where the exponent is
negative), and moment exponents from averages of ||e||^p (a few rare paths carry the mean; see
:mod:`noisyrnn.theory.stability.linear_systems`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from noisyrnn.sde import SDE, Coupling, Key, Scheme, draw, euler_maruyama
from noisyrnn.theory.stability.tangent_dynamics import tangent_step
from noisyrnn.theory.system.paths import double, drives, noises
from noisyrnn.types import Sequence

_ENOUGH = 32  # independent paths from which a standard error is taken without cutting them up


@dataclass(frozen=True, kw_only=True)
class Exponents:
    """Exponents in falling order, with standard errors; per unit of time, or per step where steps differ by unit."""

    values: Tensor
    errors: Tensor
    by_sample: Tensor
    """(samples, exponents): the finite-time exponents of each path."""
    dt: float | None
    steps: int

    @property
    def top(self) -> float:
        return float(self.values[0])

    @property
    def error(self) -> float:
        """Standard error of the top exponent."""
        return float(self.errors[0])

    @property
    def dimension(self) -> float:
        """Kaplan and Yorke's dimension j + (Lambda_1 + .. + Lambda_j)/|Lambda_{j+1}|, of a full spectrum."""
        total = self.values.cumsum(0)
        j = int((total >= 0).sum())
        if j == 0 or j == len(total):
            return float(j)
        return j + float(total[j - 1] / self.values[j].abs())


@torch.no_grad()
def lyapunov_spectrum(
    sde: SDE,
    x: Sequence | None = None,
    *,
    dt: float | Tensor,
    steps: int | None = None,
    count: int | None = None,
    samples: int | None = None,
    warmup: int = 0,
    scheme: Scheme = euler_maruyama,
    h0: Tensor | None = None,
    key: Key | None = None,
    every: int = 1,
    blocks: int = 32,
    control: bool = True,
) -> Exponents:
    """Lambda_1 >= .. >= Lambda_count of a network's step map along its own path, noise and input included.

    Parameters
    ----------
    sde
        The system.
    x
        Input (batch, time, features), one path per sample; zero if None.
    dt
        Step size; or one per unit, and then exponents are per step.
    steps
        Steps that count; the length of x by default, which is repeated in time where more are asked for.
    count
        How many exponents, from the top; all by default.
    samples
        Paths, where there is no x.
    warmup
        Steps before those that count, in which the tangents turn.
    scheme
        How the system is stepped.
    h0
        Start; by default zero where an input drives the paths, N(0, I) where none does.
    key
        Of the noise, the start and the first tangents.
    every
        Steps between two orthonormalisations.
    blocks
        Batch means of each path from which the standard error comes, where there are fewer than 32 paths.
    control
        Whether the kick is taken off as a control variate.

    Returns
    -------
    Exponents

    Examples
    --------
    >>> from noisyrnn.sde import TanhDrift
    >>> drift = TanhDrift(A=torch.tensor([[0.5]]), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> round(lyapunov_spectrum(SDE(drift), dt=0.01, steps=100).top, 4)
    0.4988
    """
    system, step = double(sde), torch.as_tensor(dt, dtype=torch.float64)
    scheme.check(system)
    _check_step_size(system, scheme, step)
    u = drives(system, x, samples)
    n, T = u.shape[:2]
    steps = T if steps is None and x is not None else steps
    if steps is None or steps < 1 or warmup < 0 or every < 1:
        raise ValueError(f"Give steps >= 1, warmup >= 0, every >= 1; got {steps=}, {warmup=}, {every=}.")
    key = Key(value=0) if key is None else key
    h = _start(system, h0, n, x is None, key)
    k = system.units if count is None else count
    if not 1 <= k <= system.units:
        raise ValueError(f"A system of {system.units} units has that many exponents; count must be 1 to that, got {k}.")
    V = torch.linalg.qr(draw(key.at(layer=2), n, k, system.units, dtype=torch.float64).permute(1, 2, 0))[0].mT
    cuts = min(blocks, steps) if n < _ENOUGH else 1
    totals = torch.zeros(cuts, n, k, dtype=torch.float64)
    for m, (xi, uniforms) in enumerate(noises(system, scheme, key, samples=n, steps=warmup + steps)):
        q = V
        h, V, kick = tangent_step(system, scheme, h, V, u[:, m % T], step, xi, uniforms)
        growth = -(q * kick).sum(-1) / q.square().sum(-1) if control and kick is not None else None
        if (m + 1) % every == 0 or m + 1 in (warmup, warmup + steps):
            V, stretch = _orthonormal(V)
            growth = stretch if growth is None else growth + stretch
        if growth is not None and m >= warmup:
            totals[(m - warmup) * cuts // steps] += growth
    if not bool(torch.isfinite(h).all() & torch.isfinite(totals).all()):
        raise ValueError(
            "The path left the finite numbers; take a smaller dt or the scheme tamed, "
            "or start a linear system at h0 = 0, where its tangents are the same."
        )
    length = float(step) if step.ndim == 0 else 1.0
    return _summary(totals, steps, length, None if step.ndim else length)


def extrapolated_spectrum(
    sde: SDE,
    *,
    dt: float,
    steps: int,
    count: int | None = None,
    samples: int | None = None,
    warmup: int = 0,
    scheme: Scheme = euler_maruyama,
    h0: Tensor | None = None,
    key: Key | None = None,
) -> Exponents:
    """2 Lambda(dt) - Lambda(2 dt): the exponents of the differential equation, free of the map's bias to first order.

    Both runs cover the same time, with noise of their own. Input is zero, because a sequence has no values between its
    steps.

    Parameters
    ----------
    sde, count, samples, scheme, h0, key
        As for :func:`lyapunov_spectrum`.
    dt, steps, warmup
        Of the finer run; the coarser one takes half as many steps of twice the size.

    Returns
    -------
    Exponents

    Examples
    --------
    >>> from noisyrnn.sde import TanhDrift
    >>> drift = TanhDrift(A=torch.tensor([[0.5]]), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> round(extrapolated_spectrum(SDE(drift), dt=0.01, steps=100).top, 4)
    0.5
    """
    key = Key(value=0) if key is None else key
    run = partial(lyapunov_spectrum, sde, count=count, samples=samples, scheme=scheme, h0=h0)
    fine = run(dt=dt, steps=steps, warmup=warmup, key=key)
    coarse = run(dt=2 * dt, steps=max(steps // 2, 1), warmup=warmup // 2, key=replace(key, value=key.value ^ 1))
    return Exponents(
        values=2 * fine.values - coarse.values,
        errors=(4 * fine.errors.square() + coarse.errors.square()).sqrt(),
        by_sample=2 * fine.by_sample - coarse.by_sample, dt=dt, steps=steps,
    )  # fmt: skip


def _orthonormal(V: Tensor) -> tuple[Tensor, Tensor]:
    if V.shape[-2] == 1:
        norm = V.norm(dim=-1, keepdim=True)
        return V / norm, norm.squeeze(-1).log()
    Q, R = torch.linalg.qr(V.mT)
    return Q.mT, R.diagonal(dim1=-2, dim2=-1).abs().log()


def _start(sde: SDE, h0: Tensor | None, samples: int, free: bool, key: Key) -> Tensor:
    if h0 is not None:
        return h0.detach().double().expand(samples, sde.units)
    if not free:
        return torch.zeros(samples, sde.units, dtype=torch.float64)
    return draw(key.at(layer=1), samples, 1, sde.units, dtype=torch.float64)[0]


def _summary(totals: Tensor, steps: int, length: float, dt: float | None) -> Exponents:
    cuts = totals.shape[0]
    sizes = torch.tensor([-(-(b + 1) * steps // cuts) - -(-b * steps // cuts) for b in range(cuts)])
    means = (totals / sizes.view(-1, 1, 1)).flatten(0, 1) / length
    by_sample = totals.sum(0) / (steps * length)
    errors = means.std(0) / len(means) ** 0.5 if len(means) > 1 else torch.full_like(by_sample[0], torch.nan)
    order = by_sample.mean(0).argsort(descending=True)
    return Exponents(
        values=by_sample.mean(0)[order], errors=errors[order], by_sample=by_sample[:, order], dt=dt, steps=steps
    )


def _check_step_size(sde: SDE, scheme: Scheme, step: Tensor) -> None:
    if step.ndim > 1 or (step.ndim == 1 and len(step) != sde.units):
        raise ValueError(f"dt must be a number or one step per unit ({sde.units}), got shape {tuple(step.shape)}.")
    noisy = sde.diffusion.coupling is not Coupling.SILENT
    if scheme.rooted and noisy and bool((step <= 0).any()):
        raise ValueError(f"Scheme {scheme.name} takes the square root of dt, which must be positive, got {step.min()}.")
