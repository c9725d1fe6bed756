r"""Theorem 3: intervals for the Lyapunov exponents of dh = f dt + g dB, f = A h + a(W h + U x + b).

Two solutions under the same noise differ by e. With u = e/||e||, F = A + D W (D the diagonal of secant slopes of a, in
[slope_min, slope_max]), N = ||dg||_F^2/||e||^2 and beta = ||u^T dg||^2/||e||^2, Ito's formula for log||e|| gives

    rate(u) = u^T F u + N/2 - beta                                        almost surely
    rate_p(u) = p (u^T F u + N/2 + (p - 2) beta/2)                        for E ||e||^p

and an exponent lies between the extremes of its rate, [mu_-, mu_+] plus those of the noise part:

    mu_+ = max_D lambda_max(sym(A + D W)),   mu_- = min_D lambda_min(sym(A + D W)),
    L_F = max_D ||A + D W||,   rho_F = max_i max_D ||row i of A + D W||,

over the box of D (see :mod:`noisyrnn.theory.stability.secant_bounds`).

As printed, both bounds are wrong. The upper one, lambda_max(A^sym) + L_a sigma_max(W) + sigma_2^2/2 - sigma_1^2, takes
sigma_1 from ||dg||_F where the theorem behind it needs ||e^T dg||; only noise that is common to all units has the two
equal. The lower one, lambda_min(A^sym) + sigma_1^2/2 - sigma_2^2, needs e^T da >= 0, which a monotone a does not give:
it gives D >= 0. And hypotheses on [0, T] cannot bound a limit t -> infinity.

An almost surely stable system may have growing moments: geometric Brownian motion with a = 1/2, s = 3/2 has
Lambda = -0.625 and Lambda_2 = +3.25.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from noisyrnn.sde import SDE, Calculus, CommonNoise, Coupling, DriftNoise, StateNoise
from noisyrnn.theory.stability.secant_bounds import Interval, Secants, spectral_norm

_CANCELS = Coupling.SILENT | Coupling.ADDITIVE  # noise that two solutions share to the letter


class PrintedBoundWarning(UserWarning):
    """A bound as printed was asked for where its hypotheses fail."""


def exponent_interval(sde: SDE, *, vertices: int = 4096) -> Interval:
    """[lo, hi] that contains the almost-sure Lyapunov exponent of the differences of solutions, for every input.

    >>> from noisyrnn.sde import TanhDrift
    >>> A = torch.tensor([[-0.1, -2.0], [2.0, -0.1]], dtype=torch.float64)
    >>> drift = TanhDrift(A=A, W=torch.zeros_like(A), U=A[:, :1], b=A[0])
    >>> common = exponent_interval(SDE(drift, CommonNoise(1.0)))
    >>> round(common.lo, 12), round(common.hi, 12)
    (-0.6, -0.6)
    """
    return _rates(sde, 0.0, vertices)


def moment_interval(sde: SDE, p: float, *, vertices: int = 4096) -> Interval:
    """[lo, hi] that contains Lambda_p = limsup (1/t) log E ||e||^p.

    >>> from noisyrnn.sde import TanhDrift
    >>> drift = TanhDrift(A=torch.tensor([[0.5]]), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> moment_interval(SDE(drift, CommonNoise(1.5)), 2.0)
    Interval(lo=3.25, hi=3.25)
    """
    if p <= 0:
        raise ValueError(f"Moments of order p > 0 have an exponent here, got p={p}; for p -> 0 use exponent_interval.")
    return _rates(sde, p, vertices).times(p)


def exponent_interval_as_printed(sde: SDE, *, vertices: int = 4096) -> Interval:
    """[lambda_min(A^sym) + s_1^2/2 - s_2^2, lambda_max(A^sym) + L_a ||W|| + s_2^2/2 - s_1^2]: Theorem 3 as printed.

    s_1 ||e|| <= ||dg||_F <= s_2 ||e||.

    A :class:`PrintedBoundWarning` says where its hypotheses, or those its proof needs, fail.

    >>> from noisyrnn.sde import TanhDrift
    >>> A = torch.tensor([[-0.1, -2.0], [2.0, -0.1]], dtype=torch.float64)
    >>> sde = SDE(TanhDrift(A=A, W=torch.zeros_like(A), U=A[:, :1], b=A[0]), DriftNoise(multiplicative=1.0))
    >>> with warnings.catch_warnings(action="ignore"):
    ...     round(exponent_interval_as_printed(sde).hi, 12)
    -2.105
    """
    secants = Secants.of(sde.drift)
    N = _noise(sde, secants, vertices).N
    if sde.diffusion.coupling not in _CANCELS | Coupling.COMMON:
        warnings.warn(
            "The printed upper bound takes ||e^T dg|| to be ||dg||_F, which holds only for noise common to all units; "
            "the true exponent can exceed it. Use exponent_interval.",
            PrintedBoundWarning, stacklevel=2,
        )  # fmt: skip
    linear = replace(secants, W=torch.zeros_like(secants.W)).bounds().mu
    push = replace(secants, A=torch.zeros_like(secants.A)).bounds(vertices=vertices).mu
    if push.lo < 0:
        warnings.warn(
            "The printed lower bound needs e^T da >= 0, which a monotone activation does not give unless sym(D W) is "
            "positive semidefinite; the true exponent can fall below it. Use exponent_interval.",
            PrintedBoundWarning, stacklevel=2,
        )  # fmt: skip
    lift = secants.lipschitz * spectral_norm(secants.W)
    return Interval(linear.lo + N.lo / 2 - N.hi, linear.hi + lift + N.hi / 2 - N.lo)


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """Ranges of N = ||dg||_F^2/||e||^2, beta = ||e^T dg||^2/||e||^4 and N - beta, which is never negative."""

    N: Interval
    beta: Interval
    excess: Interval

    def part(self, p: float) -> Interval:
        """Range of N/2 + (p - 2) beta/2 = (N - beta)/2 + (p - 1) beta/2: both readings hold, the tighter counts."""
        first = self.N.times(1 / 2) + self.beta.times((p - 2) / 2)
        second = self.excess.times(1 / 2) + self.beta.times((p - 1) / 2)
        return Interval(max(first.lo, second.lo), min(first.hi, second.hi))


def _rates(sde: SDE, p: float, vertices: int) -> Interval:
    """Range of u^T F u + N/2 + (p - 2) beta/2."""
    if sde.calculus is not Calculus.ITO and sde.diffusion.coupling not in _CANCELS:
        raise ValueError(
            "The intervals hold for Ito equations, got a Stratonovich one; "
            "add its correction to the drift, or use lyapunov_spectrum with the scheme heun."
        )
    secants = Secants.of(sde.drift)
    mu = secants.bounds(vertices=vertices).mu
    coupled = isinstance(sde.diffusion, DriftNoise) and sde.diffusion.coupling is Coupling.COUPLED
    if coupled and sde.units == 1:
        # One unit: the same F stands in the drift and in the noise, so F + (p - 1) s^2 F^2/2 is ranged over F itself.
        bend = (p - 1) * float(_strength(sde)[0]) ** 2
        turning = [-1 / bend] if bend and -1 / bend in mu else []
        values = [F + bend * F**2 / 2 for F in (mu.lo, mu.hi, *turning)]
        return Interval(min(values), max(values))
    part = _noise(sde, secants, vertices).part(p)
    own = not isinstance(sde.diffusion, StateNoise) and sde.diffusion.coupling is Coupling.DIAGONAL
    if own and p == 0 and sde.units > 1:
        # Only units with u_i^2 < 1/2 contribute upwards: either all share alike, or one is left with a quarter.
        share = max(1 / 2 - 1 / sde.units, 1 / 16)
        part = Interval(part.lo, share * sde.diffusion.lipschitz(sde.drift.built().lipschitz()) ** 2)
    return mu + part


def _noise(sde: SDE, secants: Secants, vertices: int) -> _Noise:
    none = Interval(0.0, 0.0)
    if sde.diffusion.coupling in _CANCELS:
        return _Noise(N=none, beta=none, excess=none)
    match sde.diffusion:
        case CommonNoise():
            s = _strength(sde)
            N = Interval(float(s.min()) ** 2, float(s.max()) ** 2)
            # N - beta is the variance of s_i under the weights u_i^2: at most a quarter of the squared range.
            return _Noise(N=N, beta=N, excess=Interval(0.0, float(s.max() - s.min()) ** 2 / 4))
        case StateNoise():
            s = _strength(sde).square()
            N = Interval(float(s.min()), float(s.max()))
            # min of sum_i s_i^2 w_i^2 over w in the simplex; it is s^2/d where all strengths are alike.
            beta = Interval(float(1 / (1 / s).sum()), N.hi)
        case DriftNoise():
            scaled = secants.bounds(scale=_strength(sde), vertices=vertices)
            N, beta = Interval(scaled.least**2, scaled.norm**2), Interval(0.0, scaled.row**2)
        case _:
            most = sde.diffusion.lipschitz(sde.drift.built().lipschitz()) ** 2
            N = beta = Interval(0.0, most)
    return _Noise(N=N, beta=beta, excess=none if sde.units == 1 else Interval(0.0, N.hi - beta.lo))


def _strength(sde: SDE) -> Tensor:
    """s_i of the multiplicative part, one for each unit, in double precision."""
    match sde.diffusion:
        case StateNoise():
            s = sde.diffusion.sigma
        case DriftNoise():
            s = sde.diffusion.epsilon * sde.diffusion.multiplicative
    return torch.as_tensor(s).detach().double().abs().expand(sde.units)
