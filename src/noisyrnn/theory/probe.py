r"""Theorem 1's regulariser as something to train with: an unbiased probe that runs beside the network.

    u_0 = 0,  u <- J u + N xi,  xi = +-1 at random;        w_0 = 0,  w <- J w + dt f''[u, u]

    E grad l . w_M = Q,        E u_M^T Hess l u_M = R

Forward in time, O(M d^2) a probe, and one ordinary backward pass for the gradient: state, u and w are three plain
passes, done as one of threefold batch. The noise factor N is taken at hbar: its derivative has mean zero and would only
add variance. The spread of one probe's R is of the size of R itself; batches and steps average it.
"""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import Drift, TanhDrift
from noisyrnn.theory.jacobian import jacobian, second_variation
from noisyrnn.theory.loss import Loss
from noisyrnn.theory.network import Network
from noisyrnn.theory.regulariser import Regulariser, regulariser
from noisyrnn.types import Drive, Sequence, State


def probe(
    network: Network, x: Sequence, loss: Loss, *, generator: torch.Generator, probes: int = 1, Q: bool = True
) -> Regulariser:
    """Unbiased estimates of Q and R (and of the variance coefficient), averaged over ``probes`` independent probes.

    >>> from noisyrnn.theory.problems import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> rough = probe(P.network, P.x, P.loss, generator=torch.Generator().manual_seed(0), probes=64)
    >>> bool((rough.R - 0.2072).abs() < 0.2)
    True
    """
    if probes < 1:
        raise ValueError(f"A probe estimate needs at least 1 probe, got {probes}.")
    drift = network.drift
    advance = partial(_closed, drift) if isinstance(drift, TanhDrift) else partial(_automatic, drift)
    u, dt = network.drift.encode(x).unbind(1), network.steps(x)
    batch, units = x.shape[0], network.units
    zeros = x.new_zeros(probes * batch, units)
    h, v, w = network.start(x), zeros, zeros
    mean = None if network.released is None or network.released.centred else torch.zeros_like(h)
    for m in range(x.shape[1]):
        f, v_slope, w_slope, shift_slope = advance(h, u[m], v, w if Q else None, mean)
        spread = network.spread(h, f, dt[m])
        signs = torch.randint(0, 2, (probes, batch, spread.noises), generator=generator, device=x.device)
        xi = (2 * signs - 1).to(x.dtype)
        kick = spread.values * xi if spread.diagonal else torch.einsum("bdr,pbr->pbd", spread.values, xi)
        step = dt[m] if probes == 1 else dt[m].repeat(probes, 1)
        v = torch.addcmul(v, step, v_slope) + kick.flatten(0, 1)
        if w_slope is not None:
            w = torch.addcmul(w, step, w_slope)
        if mean is not None and shift_slope is not None:
            mean = mean + dt[m] * shift_slope + network.bias(f, dt[m])
        h = torch.addcmul(h, dt[m], f)
    slope = loss.gradient(h)
    by_probe = v.reshape(probes, batch, units)
    return Regulariser(
        loss=loss.value(h),
        Q=(slope * w.reshape(probes, batch, units)).sum(-1).mean(0) if Q else None,
        R=torch.stack([loss.form(h, one) for one in by_probe]).mean(0),
        variance=(slope * by_probe).sum(-1).square().mean(0),
        bias=x.new_zeros(batch) if mean is None else (slope * mean).sum(-1),
    )


def explicit_loss(
    network: Network,
    x: Sequence,
    loss: Loss,
    *,
    epsilon: float = 1.0,
    Q: bool = True,
    generator: torch.Generator | None = None,
    probes: int = 1,
) -> Float[Tensor, " batch"]:
    """l + eps bias + eps^2 / 2 (Q + R), or R alone: what training with noise minimises on average, without the noise.

    With a ``generator`` Q and R come from :func:`probe` (about three plain passes), without one they are exact
    (O(M d^3) with Q, O(M d^2 classes) without). Differentiable; take the mean over the batch and go backwards.

    >>> from noisyrnn.theory.problems import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> print(f"{explicit_loss(P.network, P.x, P.loss, epsilon=0.1).item():.9f}")
    1.118708260
    """
    if epsilon < 0:
        raise ValueError(f"Noise level epsilon must be at least 0, got {epsilon}.")
    if generator is None:
        return regulariser(network, x, loss, Q=Q).expected_loss(epsilon)
    return probe(network, x, loss, generator=generator, probes=probes, Q=Q).expected_loss(epsilon)


Wide = Float[Tensor, "copies units"]
Slopes = tuple[Tensor, Tensor, Tensor | None, Tensor | None]


def _closed(drift: TanhDrift, h: State, u: Drive, v: Wide, w: Wide | None, mean: State | None) -> Slopes:
    """f, f' v, f' w + f''[v, v], f' mean, with one multiplication by W (and one by A) for all."""
    parts = [part for part in (h, v, w, mean) if part is not None]
    sizes = [part.shape[0] for part in parts]
    stack = torch.cat(parts)
    recurrent = list((stack @ drift.W.mT).split(sizes))
    linear: list[Tensor | float] = [0.0] * len(parts)
    if drift.A is not None:
        linear = list((stack @ drift.A.mT).split(sizes))
    copies = v.shape[0] // h.shape[0]
    z = recurrent[0] + u
    slope = drift.activation.slope(z)
    f = drift.activation(z) + linear[0]
    wide = slope if copies == 1 else slope.repeat(copies, 1)
    v_slope = wide * recurrent[1] + linear[1]
    w_slope = shift = None
    if w is not None:
        bent = drift.activation.second_derivative(z)
        bent = bent if copies == 1 else bent.repeat(copies, 1)
        w_slope = torch.addcmul(wide * recurrent[2] + linear[2], bent, recurrent[1].square())
    if mean is not None:
        shift = slope * recurrent[-1] + linear[-1]
    return f, v_slope, w_slope, shift


def _automatic(drift: Drift, h: State, u: Drive, v: Wide, w: Wide | None, mean: State | None) -> Slopes:
    """The same for any drift."""
    copies = v.shape[0] // h.shape[0]
    J = jacobian(drift, h, u)
    wide = J.repeat(copies, 1, 1)
    v_slope = (wide @ v.unsqueeze(-1)).squeeze(-1)
    w_slope = shift = None
    if w is not None:
        bent = second_variation(drift, h.repeat(copies, 1), u.repeat(copies, 1), v)
        w_slope = (wide @ w.unsqueeze(-1)).squeeze(-1) + bent
    if mean is not None:
        shift = (J @ mean.unsqueeze(-1)).squeeze(-1)
    return drift(h, u), v_slope, w_slope, shift
