r"""Theorem 1 in continuous time, for dh = f(h, x_t) dt + eps g(h, x_t) dB in the Ito or the Stratonovich sense.

    hbar' = f,    C' = F C + C F^T + g g^T,    mu' = F mu + tr(f'' C) / 2  [+ sum_k (D g^k) g^k / 2, Stratonovich]

    Q = 2 grad l . mu_T,     R = tr(Hess l  C_T),     E l(h_T) = l(hbar_T) + eps^2 / 2 (Q + R) + O(eps^4)

(Lim et al. 2021, supplement, continuous-time theorem.) The theorem is stated for Ito equations, but its Q has the term
w, which is the Stratonovich correction: an Ito integral has mean zero. :func:`continuous_regulariser_as_printed` keeps
it. The discrete Q is the Riemann sum of the Ito one, so discretising it directly does give the right regulariser; the
paper's remark to the contrary rests on w.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacrev, vmap

from noisyrnn.sde import SDE, Calculus
from noisyrnn.theory.regularisation.discrete import Regulariser
from noisyrnn.theory.system.derivatives import contraction, jacobian
from noisyrnn.theory.system.loss import Loss
from noisyrnn.types import State

Signal = Callable[[float], Tensor]
"""Input x_t, (batch, features), at a time t."""


@dataclass(frozen=True, eq=False)
class Moments:
    """hbar, C and mu at T: mean E h = hbar + eps^2 mu, covariance eps^2 C, to fourth order."""

    h: Float[Tensor, "batch units"]
    C: Float[Tensor, "batch units units"]
    mu: Float[Tensor, "batch units"]


def moments(
    sde: SDE,
    h0: State,
    x: Signal | Float[Tensor, "batch time features"] | None = None,
    *,
    T: float,
    steps: int = 256,
    calculus: Calculus | None = None,
) -> Moments:
    """hbar_T, C_T and mu_T by the classical Runge-Kutta method of order 4.

    Parameters
    ----------
    sde
        The system.
    h0
        Start, (batch, units).
    x
        Input as a function of time; or a sequence whose entries are held for equal parts of [0, T] (``steps`` must be
        a multiple of its length); or None for a system without input.
    T
        Horizon.
    steps
        Runge-Kutta steps.
    calculus
        Overrules the system's own.

    Returns
    -------
    Moments

    Examples
    --------
    >>> from noisyrnn.theory.known import geometric_brownian_motion
    >>> now = torch.ones(1, 1, dtype=torch.float64)
    >>> moments(geometric_brownian_motion(0.3, 0.8), now, T=1.0, steps=64).C.item()  # s^2 T exp(2 a T)
    1.166156...
    """
    if not T > 0 or steps < 1:
        raise ValueError(f"Continuous time needs T > 0 and at least 1 step, got T={T}, steps={steps}.")
    built = sde.built()
    stratonovich = (calculus or sde.calculus) is Calculus.STRATONOVICH
    value = _signal(x, h0, T, steps)
    dt = T / steps

    def rate(y: tuple[Tensor, Tensor, Tensor], k: int, part: float) -> tuple[Tensor, Tensor, Tensor]:
        h, C, mu = y
        u = built.drift.encode(value(k, part))
        F = jacobian(built.drift, h, u)
        f = built.drift(h, u)
        g = built.diffusion.matrix(h, f)
        pushed = (F @ mu.unsqueeze(-1)).squeeze(-1) + 0.5 * contraction(built.drift, h, u, C)
        if stratonovich:
            pushed = pushed + 0.5 * _correction(built, h, u)
        grown = F @ C
        return f, grown + grown.mT + g @ g.mT, pushed

    units = sde.units
    y = (h0, h0.new_zeros(h0.shape[0], units, units), torch.zeros_like(h0))
    for k in range(steps):
        one = rate(y, k, 0.0)
        two = rate(_euler_step(y, one, dt / 2), k, 0.5)
        three = rate(_euler_step(y, two, dt / 2), k, 0.5)
        four = rate(_euler_step(y, three, dt), k, 1.0)
        mean = tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(one, two, three, four, strict=True))
        y = _euler_step(y, mean, dt)
    return Moments(*y)


def continuous_regulariser(
    sde: SDE,
    loss: Loss,
    h0: State,
    x: Signal | Float[Tensor, "batch time features"] | None = None,
    *,
    T: float,
    steps: int = 256,
) -> Regulariser:
    """Q = 2 grad l . mu_T, R = tr(Hess l C_T), in the system's own calculus.

    Parameters
    ----------
    sde, h0, x, T, steps
        As for :func:`moments`.
    loss
        l, of the state at T.

    Returns
    -------
    Regulariser
        Without bias, which continuous time does not have.

    Examples
    --------
    >>> from noisyrnn.theory.system.loss import OwnLoss
    >>> from noisyrnn.theory.known import geometric_brownian_motion
    >>> now = torch.full((1, 1), 1.2, dtype=torch.float64)
    >>> gbm, mean = geometric_brownian_motion(0.3, 0.8), OwnLoss(lambda h: h.sum())
    >>> continuous_regulariser(gbm, mean, now, T=1.5, steps=32).total.item()
    0.0
    """
    return _regulariser(moments(sde, h0, x, T=T, steps=steps), loss)


def continuous_regulariser_as_printed(
    sde: SDE,
    loss: Loss,
    h0: State,
    x: Signal | Float[Tensor, "batch time features"] | None = None,
    *,
    T: float,
    steps: int = 256,
) -> Regulariser:
    """Q with the term w whatever the calculus, as the theorem prints it: wrong for Ito systems unless g is constant.

    Parameters
    ----------
    sde, loss, h0, x, T, steps
        As for :func:`continuous_regulariser`.

    Returns
    -------
    Regulariser

    Examples
    --------
    >>> from noisyrnn.theory import OwnLoss
    >>> from noisyrnn.theory.known import geometric_brownian_motion
    >>> now = torch.full((1, 1), 1.2, dtype=torch.float64)
    >>> gbm, mean = geometric_brownian_motion(0.3, 0.8), OwnLoss(lambda h: h.sum())
    >>> continuous_regulariser_as_printed(gbm, mean, now, T=1.5, steps=32).total.item()  # the truth is 0
    1.806...
    """
    return _regulariser(moments(sde, h0, x, T=T, steps=steps, calculus=Calculus.STRATONOVICH), loss)


def _regulariser(at_end: Moments, loss: Loss) -> Regulariser:
    slope = loss.gradient(at_end.h)
    return Regulariser(
        loss=loss.value(at_end.h),
        Q=2 * (slope * at_end.mu).sum(-1),
        R=(loss.hessian(at_end.h) * at_end.C).sum((-2, -1)),
        variance=torch.einsum("bi,bij,bj->b", slope, at_end.C, slope),
        bias=torch.zeros_like(slope[:, 0]),
    )


def _correction(sde: SDE, h: Tensor, u: Tensor) -> Tensor:
    """sum_k (D g^k) g^k."""

    def columns(h: Tensor, u: Tensor) -> Tensor:
        return sde.diffusion.matrix(h, sde.drift(h, u))

    slopes = vmap(jacrev(columns))(h, u.expand(h.shape[0], -1))
    return torch.einsum("bjkl,blk->bj", slopes, sde.diffusion.matrix(h, sde.drift(h, u)))


def _euler_step(y: tuple[Tensor, ...], rate: tuple[Tensor, ...], dt: float) -> tuple[Tensor, Tensor, Tensor]:
    h, C, mu = (part + dt * slope for part, slope in zip(y, rate, strict=True))
    return h, C, mu


def _signal(x: Signal | Tensor | None, h0: Tensor, T: float, steps: int) -> Callable[[int, float], Tensor]:
    """x at (k + part) dt; a held sequence keeps its value to the very end of each entry."""
    if x is None:
        return lambda k, part: h0.new_zeros(h0.shape[0], 1)
    if not isinstance(x, Tensor):
        return lambda k, part: x((k + part) * T / steps)
    held = x
    if steps % held.shape[1]:
        raise ValueError(f"steps must be a multiple of the sequence's length {held.shape[1]}, got {steps}.")
    return lambda k, part: held[:, k * held.shape[1] // steps]
