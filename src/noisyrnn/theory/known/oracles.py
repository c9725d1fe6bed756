r"""Exponents and errors that are known exactly: what the estimators and bounds of this room are tested against.

    dh = a h dt + s h dB                                 Lambda = a - s^2/2,   Lambda_p = p (a + (p - 1) s^2/2)
    dE = k [[-1, 1], [1, -1]] E dt + s diag(E) dB        Lambda = k (K_1(z)/K_0(z) - 1) - s^2/2,   z = 2 k/s^2
    dE = F E dt + sum_k B_k E dB_k in the plane          Furstenberg-Khasminskii: the mean rate over angles
    dh = f(h) dt + s dB on the line                      Lambda = E f'(h), h of density ~ exp(2 int f/s^2)

The plane is where the paper's Theorem 3 fails exactly: for its own noise, g = s diag(A h) with
A = [[-0.1, -2], [2, -0.1]] and s = 1, the printed upper bound is -2.105 and the truth is +0.8213694423115.

References: Khasminskii (1967); Arnold, Random Dynamical Systems (1998), chapter 6; Kloeden and Platen (1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy  # its parts are loaded where they are used: together they take a second
from numpy.typing import ArrayLike, NDArray

Line = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def gbm_exponent(a: float, s: float) -> float:
    """Lambda = a - s^2/2 of dh = a h dt + s h dB: noise stabilises it, path by path.

    >>> gbm_exponent(0.5, 1.5)
    -0.625
    """
    return a - s**2 / 2


def gbm_moment_exponent(a: float, s: float, *, p: float) -> float:
    """Lambda_p = p (a + (p - 1) s^2/2): the same noise destabilises the moments.

    >>> gbm_moment_exponent(0.5, 1.5, p=2.0)
    3.25
    """
    return p * (a + (p - 1) * s**2 / 2)


def gbm_step_exponent(a: float, s: float, *, dt: float) -> float:
    """E log|1 + a dt + s sqrt(dt) xi| / dt: the exponent of the Euler-Maruyama map, which is O(dt) off.

    >>> round(gbm_step_exponent(0.5, 1.5, dt=0.01), 12)
    -0.655451632434
    """
    centre, spread = 1 + a * dt, s * math.sqrt(dt)
    if spread == 0:
        return math.log(abs(centre)) / dt

    def weighed(xi: float) -> float:
        return math.log(abs(centre + spread * xi)) * math.exp(-(xi**2) / 2)

    # Beyond 14 the Gaussian weight is below 1e-42; the logarithm's pole must be an end of a piece, never inside one.
    pole = -centre / spread
    ends = sorted({-14.0, -4.0, 0.0, 4.0, 14.0} | ({pole} if abs(pole) < 14 else set()))
    pieces = (
        scipy.integrate.quad(weighed, low, high, epsabs=1e-15, epsrel=1e-13, limit=400)[0]
        for low, high in pairwise(ends)
    )
    return sum(pieces) / math.sqrt(2 * math.pi) / dt


def gbm_step_moment_exponent(a: float, s: float, *, dt: float) -> float:
    """log((1 + a dt)^2 + s^2 dt) / dt: second-moment exponent of the Euler-Maruyama map.

    >>> round(gbm_step_moment_exponent(0.5, 1.5, dt=0.01), 12)
    3.200725863498
    """
    return math.log((1 + a * dt) ** 2 + s**2 * dt) / dt


def gbm_strong_error(
    a: float, s: float, *, horizon: float, steps: int, start: float = 1.0, milstein: bool = False
) -> float:
    """(E |h_M - h(T)|^2)^(1/2) of Euler-Maruyama, or Milstein, for dh = a h dt + s h dB, in closed form.

    With G the exact and R the approximate factor of one step, it is
    h_0 (exp((2a + s^2) T) - 2 (E R G)^M + (E R^2)^M)^(1/2).

    Parameters
    ----------
    a, s
        Of the equation.
    horizon, steps
        T and M.
    start
        h_0.
    milstein
        Whether the scheme is Milstein's.

    Returns
    -------
    float

    Examples
    --------
    >>> round(gbm_strong_error(-0.5, 0.8, horizon=1.0, steps=16), 13)
    0.0957945267883
    """
    d = horizon / steps
    square, product = (1 + a * d) ** 2 + s**2 * d, 1 + a * d + s**2 * d
    if milstein:
        square, product = square + s**4 * d**2 / 2, product + s**4 * d**2 / 2
    exact = math.exp((2 * a + s**2) * horizon)
    squared = exact - 2 * (math.exp(a * d) * product) ** steps + square**steps
    return abs(start) * math.sqrt(max(squared, 0.0))


def gbm_weak_error(a: float, *, horizon: float, steps: int, start: float = 1.0) -> float:
    """|E h_M - E h(T)| = |h_0| |(1 + a dt)^M - exp(a T)| of Euler-Maruyama and of Milstein.

    >>> round(gbm_weak_error(-0.5, horizon=1.0, steps=16), 10)
    0.0048203563
    """
    return abs(start * ((1 + a * horizon / steps) ** steps - math.exp(a * horizon)))


def bessel_exponent(k: float, s: float) -> float:
    """Lambda = k (K_1(z)/K_0(z) - 1) - s^2/2, z = 2 k/s^2: two coupled units, each with noise of its own.

    >>> round(bessel_exponent(2.0, 1.0), 12)
    -0.262748884245
    """
    z = 2 * k / s**2
    return k * (float(scipy.special.kve(1, z) / scipy.special.kve(0, z)) - 1) - s**2 / 2


def planar_exponent(F: ArrayLike, B: ArrayLike, *, modes: int = 100, tolerance: float = 1e-9) -> float:
    """Lambda = int rate(theta) p(theta) d theta of dE = F E dt + sum_k B_k E dB_k in the plane.

    ``B`` is (noises, 2, 2). The density p of the angle solves the stationary Fokker-Planck equation, here in Fourier
    modes exp(2 i k theta). Where noise vanishes at some angle the density may not be smooth: if doubling the modes
    moves the result by more than ``tolerance`` it is refused.

    >>> A = np.array([[-0.1, -2.0], [2.0, -0.1]])
    >>> noise = np.array([np.diag([1.0, 0.0]) @ A, np.diag([0.0, 1.0]) @ A])
    >>> round(planar_exponent(A, noise), 12)
    0.821369442312
    """
    first, second = (_planar(np.asarray(F, float), np.asarray(B, float), count) for count in (modes, 2 * modes))
    if not abs(first - second) <= tolerance:
        raise ValueError(
            f"The density of the angle is not resolved by {modes} modes (exponents {first} and {second} with twice as "
            f"many); raise modes, or estimate the exponent by lyapunov_spectrum."
        )
    return second


def line_exponent(drift: Line, slope: Line, s: float, *, half_width: float = 30.0, nodes: int = 60_001) -> float:
    """Lambda = E f'(h) of dh = f(h) dt + s dB on the line, by quadrature: additive noise does change exponents.

    Parameters
    ----------
    drift, slope
        f and f', of arrays.
    s
        Strength of the noise.
    half_width, nodes
        Of the grid around 0.

    Returns
    -------
    float

    Examples
    --------
    >>> tanh = lambda h: -h / 2 + np.tanh(h)
    >>> round(line_exponent(tanh, lambda h: 0.5 - np.tanh(h) ** 2, 1.0), 10)
    -0.261594156
    """
    h = np.linspace(-half_width, half_width, nodes)
    potential = scipy.integrate.cumulative_simpson(drift(h), x=h, initial=0.0)
    density = np.exp(2 * (potential - potential.max()) / s**2)
    return float((slope(h) * density).sum() / density.sum())


def _planar(F: NDArray[np.float64], B: NDArray[np.float64], modes: int) -> float:
    points = 8 * modes
    angle = np.arange(points) * math.pi / points
    u = np.stack((np.cos(angle), np.sin(angle)))
    v = np.stack((-np.sin(angle), np.cos(angle)))
    noise = np.einsum("kij,jt->kit", B, u)
    radial, turning = (noise * u).sum(1), (noise * v).sum(1)
    rate = (u * (F @ u)).sum(0) + (noise**2).sum((0, 1)) / 2 - (radial**2).sum(0)
    drift = (v * (F @ u)).sum(0) - (radial * turning).sum(0)
    spread = (turning**2).sum(0)

    def coefficients(function: NDArray[np.float64]) -> NDArray[np.complex128]:
        return np.fft.fft(function) / points

    k = np.arange(-modes, modes + 1)
    shift = k[:, None] - k[None, :]
    frequency = 2j * k[:, None]
    # 0 = (spread p)''/2 - (drift p)', mode by mode; the mode k = 0 is empty and gives way to int p = 1.
    operator = frequency**2 / 2 * coefficients(spread)[shift] - frequency * coefficients(drift)[shift]
    operator[modes] = 0
    operator[modes, modes] = 1
    density = np.linalg.solve(operator, (k == 0).astype(complex))
    return float((coefficients(rate)[-k] * density).sum().real)
