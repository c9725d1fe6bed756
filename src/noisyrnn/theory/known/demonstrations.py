r"""Noise that stabilises, and noise that does not: the top Lyapunov exponent against the strength of the noise.

    growing line     dh = a h dt + s h dB: stable, path by path, once s^2 > 2 a; its moments grow all the same
    provable         six tanh units under one common Brownian motion: the corrected interval drops below 0
    chaotic          six tanh units with a positive exponent: common or state noise quenches it, the paper's does not
    antisymmetric    dh = A h dt + s diag(A h) dB, the paper's own noise: it *de*stabilises; Lambda rises to +0.82 at
                     s = 1, where the printed upper bound says -2.1

Each demonstration is data; :mod:`noisyrnn.theory.known.figures` draws it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.sde import SDE, CommonNoise, Diffusion, DriftNoise, Key, TanhDrift
from noisyrnn.theory.known.oracles import gbm_exponent, planar_exponent
from noisyrnn.theory.stability.exponent_bounds import exponent_interval, exponent_interval_as_printed
from noisyrnn.theory.stability.exponent_estimates import extrapolated_spectrum

NoiseOfStrength = Callable[[Tensor], Diffusion]

_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """Top exponents at several noise strengths: bounds, estimates with standard errors, and the truth where known."""

    title: str
    strengths: Tensor
    lower: Tensor
    upper: Tensor
    printed_upper: Tensor
    estimates: Tensor
    errors: Tensor
    truth: Tensor | None


def growing_line(
    *, strengths: Sequence[float] = _STRENGTHS, a: float = 0.5, steps: int = 1000, samples: int = 64, dt: float = 0.01
) -> Demonstration:
    """Lambda = a - s^2/2 of geometric Brownian motion.

    Parameters
    ----------
    strengths
        Of the noise, s.
    a
        Growth without noise.
    steps, samples, dt
        Of the estimates: length and number of paths, and step size.

    Returns
    -------
    Demonstration

    Examples
    --------
    >>> growing_line(strengths=(0.0, 2.0), steps=50).upper
    tensor([ 0.5000, -1.5000], dtype=torch.float64)
    """
    drift = _linear(torch.tensor([[a]], dtype=torch.float64))
    truth = torch.tensor([gbm_exponent(a, s) for s in strengths], dtype=torch.float64)
    return _demonstration(
        "Geometric Brownian motion: noise stabilises", drift, CommonNoise, strengths, steps, samples, dt, truth=truth
    )


def provable_network(
    *, strengths: Sequence[float] = (0.0, 0.4, 0.8, 1.2, 1.6), steps: int = 2000, samples: int = 32, dt: float = 0.01
) -> Demonstration:
    """Six tanh units that one common Brownian motion provably stabilises: the interval is below 0 from s = 1.04 on.

    >>> [round(float(end), 6) for end in provable_network(strengths=(1.6,), steps=20).upper]
    [-0.747928]
    """
    return _demonstration(
        "Provable network: common noise stabilises", provable_drift(), CommonNoise, strengths, steps, samples, dt
    )


def chaotic_network(
    noise: NoiseOfStrength = CommonNoise,
    *,
    strengths: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    steps: int = 4000,
    samples: int = 32,
    dt: float = 0.01,
    title: str = "Chaotic network: common noise",
) -> Demonstration:
    """Six tanh units with Lambda = +0.16 under any noise; the interval is far too wide to prove what estimates show.

    Parameters
    ----------
    noise
        From a strength to a diffusion, such as StateNoise.
    strengths
        Of the noise, s.
    steps, samples, dt
        Of the estimates: length and number of paths, and step size.
    title
        Of the demonstration.

    Returns
    -------
    Demonstration

    Examples
    --------
    >>> found = chaotic_network(strengths=(1.0,), steps=20)
    >>> bool(found.lower[0] < found.estimates[0] < found.upper[0])
    True
    """
    return _demonstration(title, chaotic_drift(), noise, strengths, steps, samples, dt, warmup=steps // 4)


def antisymmetric_network(
    *, strengths: Sequence[float] = _STRENGTHS, steps: int = 4000, samples: int = 128, dt: float = 0.004
) -> Demonstration:
    """dh = A h dt + s diag(A h) dB, A = [[-0.1, -2], [2, -0.1]]: the paper's own noise destabilises.

    >>> round(float(antisymmetric_network(strengths=(1.0,), steps=20).truth[0]), 10)
    0.8213694423
    """
    drift = antisymmetric_drift()
    A = drift.linear(torch.eye(2, dtype=torch.float64)).mT
    rows = torch.stack([torch.diag(row) @ A for row in torch.eye(2, dtype=torch.float64)])
    # Without noise the angle does not spread, and the exponent is the common real part of A's eigenvalues.
    truth = [planar_exponent(A.numpy(), (s * rows).numpy(), modes=200) if s >= 0.2 else float("nan") for s in strengths]
    truth = [-0.1 if s == 0 else value for s, value in zip(strengths, truth, strict=True)]
    return _demonstration(
        "Antisymmetric network: the paper's noise destabilises", drift, _paper_noise, strengths, steps, samples, dt,
        truth=torch.tensor(truth, dtype=torch.float64), warmup=steps // 8,
    )  # fmt: skip


def antisymmetric_drift() -> TanhDrift:
    """f = A h with A = [[-0.1, -2], [2, -0.1]]."""
    return _linear(torch.tensor([[-0.1, -2.0], [2.0, -0.1]], dtype=torch.float64))


def provable_drift() -> TanhDrift:
    """A = I/4 + (K - K^T)/2, K_ij = sin(i + 2j)/2, W_ij = 0.15 cos(2i - j), b_i = cos(i)/2; tanh, i, j = 1 .. 6."""
    i = torch.arange(1, 7, dtype=torch.float64)
    K = 0.5 * torch.sin(i[:, None] + 2 * i)
    W = 0.15 * torch.cos(2 * i[:, None] - i)
    A = 0.25 * torch.eye(6, dtype=torch.float64) + (K - K.mT) / 2
    return TanhDrift(A, W, torch.zeros(6, 1, dtype=torch.float64), 0.5 * torch.cos(i))


def chaotic_drift() -> TanhDrift:
    """A = -0.4 I, b = 0 and a matrix W of small integers that makes six tanh units chaotic."""
    W = torch.tensor(
        [
            [-1, -1, 1, 1, -2, 1],
            [-1, 2, 1, 0, -1, -2],
            [1, -2, -2, 1, -2, -1],
            [-1, 2, -1, 0, 0, 2],
            [1, -2, 0, 2, -1, 2],
            [-2, 2, -2, -2, -1, -1],
        ],
        dtype=torch.float64,
    )
    return TanhDrift(-0.4 * torch.eye(6, dtype=torch.float64), W, torch.zeros_like(W[:, :1]), torch.zeros_like(W[0]))


def _demonstration(
    title: str, drift: TanhDrift, noise: NoiseOfStrength, strengths: Sequence[float], steps: int, samples: int,
    dt: float, *, warmup: int = 0, truth: Tensor | None = None,
) -> Demonstration:  # fmt: skip
    rows = []
    linear = drift.W.abs().max() == 0
    for s in strengths:
        sde = SDE(drift, noise(torch.tensor(s, dtype=torch.float64)))
        interval = exponent_interval(sde)
        with warnings.catch_warnings(action="ignore"):  # the printed bound is drawn to be compared, not believed
            printed = exponent_interval_as_printed(sde)
        # A linear system has the same tangents everywhere; at the origin its state cannot overflow.
        h0 = torch.zeros(drift.units) if linear else None
        found = extrapolated_spectrum(
            sde, dt=dt, steps=steps, warmup=warmup, samples=samples, count=1, h0=h0, key=Key(value=1)
        )
        rows.append((interval.lo, interval.hi, printed.hi, found.top, found.error))
    lower, upper, printed_upper, estimates, errors = torch.tensor(rows, dtype=torch.float64).unbind(1)
    return Demonstration(
        title=title, strengths=torch.tensor(strengths, dtype=torch.float64), lower=lower, upper=upper,
        printed_upper=printed_upper, estimates=estimates, errors=errors, truth=truth,
    )  # fmt: skip


def _paper_noise(s: Tensor) -> Diffusion:
    return DriftNoise(multiplicative=s)


def _linear(A: Tensor) -> TanhDrift:
    return TanhDrift(A, torch.zeros_like(A), torch.zeros_like(A[:, :1]), torch.zeros_like(A[0]))
