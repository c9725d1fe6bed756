r"""Theorem 1: training with noise is, on average, training with a regulariser.

    E l(h_M) = l(hbar_M) + eps^2 / 2 (Q + R) + O(eps^4),        Var l(h_M) = eps^2 v + O(eps^4)

    R = tr(Hess l  C_M)                                       C_0 = 0,  C_{m+1} = J_m C_m J_m^T + N_m N_m^T
    Q = sum_k lambda_{k+1} . diag(dt_k) tr(f''_k C_k)         lambda_M = grad l,  lambda_m = J_m^T lambda_{m+1}
    v = sum_m ||N_m^T lambda_{m+1}||^2                        N_m = sqrt(dt_m) g(hbar_m)

(Lim et al. 2021, Theorem 1.) R is right as printed. Q is not: the proof takes the last step's Hessian and covariance
for every k, and names a state f_M that does not exist; :func:`Q_as_printed` is its nearest reading. The remainder is of
fourth order, not third, for any symmetric noise. The bounds |Q| <= C dt^2 and |R| <= C dt hold for a fixed number of
steps; on a fixed interval both tend to constants, so small steps are no reason to drop Q. Section 5 redefines R with
the factor 1/2 inside and takes the loss's Hessian one step too early.

Everything is computed backwards without products of Jacobians: R and v in O(M d^2 classes), Q in O(M d^3).
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.theory.system.loss import Loss
from noisyrnn.theory.system.network import Network
from noisyrnn.theory.system.tangent import Tangent, Trajectory, trajectory
from noisyrnn.types import Sequence

Values = Float[Tensor, " batch"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Regulariser:
    """Q, R, variance coefficient and first-order bias, one number per sample; Q is None where it was not asked for."""

    loss: Values
    R: Values
    variance: Values
    bias: Values
    Q: Values | None = None

    @property
    def total(self) -> Values:
        """Q + R, or R alone."""
        return self.R if self.Q is None else self.Q + self.R

    def expected_loss(self, epsilon: float = 1.0) -> Values:
        """l + eps bias + eps^2 / 2 (Q + R)."""
        return self.loss + epsilon * self.bias + 0.5 * epsilon**2 * self.total


def regulariser(network: Network, x: Sequence, loss: Loss | Many[Loss | None], *, Q: bool = True) -> Regulariser:
    """Q, R, variance and bias of E l(h_M) = l + eps bias + eps^2 / 2 (Q + R), exactly and batched.

    ``loss`` is a loss of the last state, or one loss (or None) for each of h_1 .. h_M, which are added. ``Q=False``
    leaves out Q and its O(d^3) per step. The result can be differentiated.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> result = regulariser(P.network, P.x, P.loss)
    >>> print(f"{result.Q.item():.12f} {result.R.item():.12f}")
    -0.004925643128 0.207201063693
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    losses = _at_each_step(loss, path.length)
    last, earlier = losses[-1], any(one is not None for one in losses[:-1])
    L = None if earlier or last is None else last.root(path.h[-1])

    batch, units = path.h.shape[1:]
    zero = path.h.new_zeros(batch)
    value, R, variance, bias, bent = zero, zero, zero, zero, zero
    covector = path.h.new_zeros(batch, units)
    S_R = S_Q = path.h.new_zeros(batch, units, units)
    for m in range(path.length - 1, -1, -1):
        here = losses[m]
        if here is not None:
            value = value + here.value(path.h[m + 1])
            covector = covector + here.gradient(path.h[m + 1])
            if L is None:
                S_R = S_R + here.hessian(path.h[m + 1])
        N = network.noise_factor(path.h[m], path.f[m], path.dt[m])
        R = R + (N.trace(S_R) if L is None else N.squared_norm(L))
        variance = variance + N.squared_norm(covector.unsqueeze(0))
        if network.released is not None:
            bias = bias + (covector * network.bias(path.f[m], path.dt[m])).sum(-1)
        if Q or L is None:
            J = tangent.matrix(m)
        if Q:
            bent = bent + N.trace(S_Q)
            S_Q = J.mT @ S_Q @ J + tangent.curvature(m, path.dt[m] * covector)
        if L is None:
            S_R = J.mT @ S_R @ J
        else:
            L = tangent.pull(m, L)
        covector = tangent.pull(m, covector)
    return Regulariser(loss=value, Q=bent if Q else None, R=R, variance=variance, bias=bias)


def Q_as_printed(network: Network, x: Sequence, loss: Loss) -> Values:
    """grad l . sum_k dt_{k-1} P_{M,k} tr(f''_{M-1} C_{M-1}): Theorem 1's Q as printed, which is wrong.

    The printed f_M is read as f_{M-1}: there is no input x_M.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> print(f"{Q_as_printed(P.network, P.x, P.loss).item():.12f}")
    0.005615470640
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    last = path.length - 1
    C = path.h.new_zeros(x.shape[0], network.units, network.units)
    for m in range(last):
        J = tangent.matrix(m)
        C = J @ C @ J.mT + network.noise_factor(path.h[m], path.f[m], path.dt[m]).covariance()
    covector = loss.gradient(path.h[-1])
    weight = torch.zeros_like(covector)
    for m in range(last, -1, -1):
        weight = weight + path.dt[m] * covector
        covector = tangent.pull(m, covector)
    return (tangent.curvature(last, weight) * C).sum((-2, -1))


def R_of_section_five(network: Network, x: Sequence, loss: Loss) -> Values:
    """R / 2 = sum_m ||M_M P_{M,m+1} N_m||_F^2 / 2: the regulariser with the weight eps^2, as Section 5 defines it."""
    return regulariser(network, x, loss, Q=False).R / 2


def R_of_section_five_as_printed(network: Network, x: Sequence, loss: Loss) -> Values:
    """The same with the loss's Hessian at hbar_{M-1}, as the printed index has it: a few per cent off."""
    path = trajectory(network, x)
    tangent = Tangent(path)
    L = _columns(loss, path)
    R = path.h.new_zeros(x.shape[0])
    for m in range(path.length - 1, -1, -1):
        R = R + network.noise_factor(path.h[m], path.f[m], path.dt[m]).squared_norm(L)
        L = tangent.pull(m, L)
    return R / 2


def _columns(loss: Loss, path: Trajectory) -> Tensor:
    L = loss.root(path.h[-2])
    if L is None:
        raise ValueError(
            f"Section 5's form needs a loss whose Hessian has a root, got {type(loss).__name__}; "
            "use CrossEntropy or SquaredError."
        )
    return L


def _at_each_step(loss: Loss | Many[Loss | None], length: int) -> list[Loss | None]:
    if isinstance(loss, Loss):
        return [None] * (length - 1) + [loss]
    if len(loss) != length:
        raise ValueError(f"Losses at every step need one entry (or None) per step: {length} steps, got {len(loss)}.")
    return list(loss)
