r"""Noise that stabilises, and noise that does not: the top Lyapunov exponent against the strength of the noise.

    growing line     dh = a h dt + s h dB: stable, path by path, once s^2 > 2 a; its moments grow all the same
    provable         six tanh units under one common Brownian motion: the corrected interval drops below 0
    chaotic          six tanh units with a positive exponent: common or state noise quenches it, the paper's does not
    antisymmetric    dh = A h dt + s diag(A h) dB, the paper's own noise: it *de*stabilises; Lambda rises to +0.82 at
                     s = 1, where the printed upper bound says -2.1

Each demonstration is data; :func:`exponent_figure` draws it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from matplotlib.figure import Figure
from torch import Tensor

from noisyrnn.sde import SDE, CommonNoise, Diffusion, DriftNoise, Key, TanhDrift
from noisyrnn.theory.exponents import extrapolated_spectrum
from noisyrnn.theory.lyapunov import exponent_interval, exponent_interval_as_printed
from noisyrnn.theory.oracles import gbm_exponent, planar_exponent

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

    >>> growing_line(strengths=(0.0, 2.0), steps=50).upper
    tensor([ 0.5000, -1.5000], dtype=torch.float64)
    """
    drift = _linear(torch.tensor([[a]], dtype=torch.float64))
    truth = torch.tensor([gbm_exponent(a, s) for s in strengths], dtype=torch.float64)
    return _swept(
        "Geometric Brownian motion: noise stabilises", drift, CommonNoise, strengths, steps, samples, dt, truth=truth
    )


def provable_network(
    *, strengths: Sequence[float] = (0.0, 0.4, 0.8, 1.2, 1.6), steps: int = 2000, samples: int = 32, dt: float = 0.01
) -> Demonstration:
    """Six tanh units that one common Brownian motion provably stabilises: the interval is below 0 from s = 1.04 on.

    >>> [round(float(end), 6) for end in provable_network(strengths=(1.6,), steps=20).upper]
    [-0.747928]
    """
    return _swept(
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
    """Six tanh units with Lambda = +0.16: ``noise`` maps a strength to a diffusion, such as StateNoise.

    The interval is far too wide to prove what the estimates show.
    """
    return _swept(title, chaotic_drift(), noise, strengths, steps, samples, dt, warmup=steps // 4)


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
    return _swept(
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


def exponent_figure(demonstration: Demonstration) -> Figure:
    """Interval, printed upper bound, estimates with three standard errors, and the truth, against noise strength.

    Where the interval is far wider than what happens inside it, the frame follows the estimates.
    """
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    s, found = demonstration.strengths, demonstration.estimates
    axes.fill_between(
        s, demonstration.lower, demonstration.upper, alpha=0.15, color="tab:blue", label="interval (corrected theorem)"
    )
    axes.plot(s, demonstration.printed_upper, "--", color="tab:red", linewidth=1.2, label="upper bound as printed")
    if demonstration.truth is not None:
        axes.plot(s, demonstration.truth, color="black", linewidth=1.2, label="exact")
    axes.errorbar(
        s, found, yerr=3 * demonstration.errors, fmt="o", markersize=4, capsize=3, color="tab:blue",
        label="estimate, ± 3 standard errors",
    )  # fmt: skip
    span = float(found.max() - found.min()) + 6 * float(demonstration.errors.max())
    if float((demonstration.upper - demonstration.lower).min()) > 8 * span:
        axes.set_ylim(float(found.min()) - span, float(found.max()) + span)
        axes.set_title("interval and printed bound lie beyond the frame", fontsize="small", loc="right")
    _finished(figure, demonstration.title)
    return figure


def comparison_figure(demonstrations: Sequence[Demonstration], *, title: str) -> Figure:
    """Estimates of several demonstrations in one frame, such as one system under three kinds of noise."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for demonstration in demonstrations:
        axes.errorbar(
            demonstration.strengths, demonstration.estimates, yerr=3 * demonstration.errors, fmt="o-", markersize=4,
            linewidth=1, capsize=3, label=demonstration.title,
        )  # fmt: skip
    _finished(figure, title)
    return figure


def _finished(figure: Figure, title: str) -> None:
    (axes,) = figure.axes
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(xlabel="noise strength s", ylabel="top Lyapunov exponent")
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    figure.suptitle(title)


def _swept(
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
