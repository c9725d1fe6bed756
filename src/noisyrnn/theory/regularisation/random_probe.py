r"""Theorem 1's regulariser as something to train with: an unbiased probe that runs beside the network.

    u_0 = 0,  u <- J u + N xi,  xi = +-1 at random;        w_0 = 0,  w <- J w + dt f''[u, u]

    E grad l . w_M = Q,        E u_M^T Hess l u_M = R

Forward in time, O(M d^2) per probe, and one ordinary backward pass for the gradient: state, u and w are three plain
passes, done as one of threefold batch. The noise factor N is taken at hbar: its derivative has mean zero and would only
add variance. The standard deviation of one probe's R is of the size of R itself; batches and steps average it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import Coupling, Drift, TanhDrift
from noisyrnn.theory.regularisation.discrete import Regulariser, regulariser
from noisyrnn.theory.system.derivatives import jacobian, second_variation
from noisyrnn.theory.system.loss import Loss
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Drive, Sequence


def probe(
    network: Network, x: Sequence, loss: Loss, *, generator: torch.Generator, probes: int = 1, Q: bool = True
) -> Regulariser:
    """Unbiased estimates of Q and R (and of the variance coefficient), averaged over independent probes.

    Parameters
    ----------
    network, x, loss
        The network, its inputs and a loss of its last state.
    generator
        Of the random signs.
    probes
        How many are averaged.
    Q
        Whether Q is wanted too.

    Returns
    -------
    Regulariser

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> rough = probe(P.network, P.x, P.loss, generator=torch.Generator().manual_seed(0), probes=64)
    >>> bool((rough.R - 0.2072).abs() < 0.2)
    True
    """
    if probes < 1:
        raise ValueError(f"A probe estimate needs at least 1 probe, got {probes}.")
    drift = network.drift
    biased = network.released is not None and not network.released.centred
    rate = _closed(drift) if isinstance(drift, TanhDrift) else _automatic(drift)
    kick = _kick(network, x, generator, probes)
    h = network.start(x).unsqueeze(0)
    # (probe, sample, unit): the probes u, their second variations w (with Q), the mean shift (of released noise).
    v = h.new_zeros(probes, *h.shape[1:])
    w = torch.zeros_like(v) if Q else None
    shift = torch.zeros_like(h) if biased else None
    steps = network.steps(x).unbind(0)
    for m, u in enumerate(drift.encode(x).unbind(1)):
        dt = steps[m]
        f, v_rate, w_rate, shift_rate = rate(h, u, v, w, shift)
        v = torch.addcmul(v, dt, v_rate) + kick(m, h, f)
        if w is not None and w_rate is not None:
            w = torch.addcmul(w, dt, w_rate)
        if shift is not None and shift_rate is not None:
            shift = torch.addcmul(shift, dt, shift_rate) + network.bias(f, dt)
        h = torch.addcmul(h, dt, f)
    end = h[0]
    slope = loss.gradient(end)
    return Regulariser(
        loss=loss.value(end),
        Q=None if w is None else (slope * w).sum(-1).mean(0),
        R=loss.form(end, v).mean(0),
        variance=(slope * v).sum(-1).square().mean(0),
        bias=x.new_zeros(x.shape[0]) if shift is None else (slope * shift[0]).sum(-1),
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

    Parameters
    ----------
    network, x, loss
        The network, its inputs and a loss of its last state.
    epsilon
        Scale of the noise.
    Q
        Whether Q counts.
    generator
        With one, Q and R come from :func:`probe` (about three plain passes); without, they are exact (O(M d^3) with Q,
        O(M d^2 classes) without).
    probes
        How many probes are averaged.

    Returns
    -------
    Tensor
        One number per sample, differentiable: take the mean over the batch and go backwards.

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> print(f"{explicit_loss(P.network, P.x, P.loss, epsilon=0.1).item():.9f}")
    1.118708260
    """
    if epsilon < 0:
        raise ValueError(f"Noise level epsilon must be at least 0, got {epsilon}.")
    if generator is None:
        return regulariser(network, x, loss, Q=Q).expected_loss(epsilon)
    return probe(network, x, loss, generator=generator, probes=probes, Q=Q).expected_loss(epsilon)


One = Float[Tensor, "1 batch units"]
Each = Float[Tensor, "probes batch units"]
Rates = tuple[Tensor, Tensor, Tensor | None, Tensor | None]


def _closed(drift: TanhDrift) -> Callable[..., Rates]:
    """f, f' v, f' w + f''[v, v] and f' shift, with one product by W (and one by A) for all of them."""
    W, A = drift.W.mT, None if drift.A is None else drift.A.mT
    activation = drift.activation

    def rate(h: One, u: Drive, v: Each, w: Each | None, shift: One | None) -> Rates:
        parts = [part for part in (h, v, w, shift) if part is not None]
        sizes = [len(part) for part in parts]
        stack = torch.cat(parts)
        recurrent = (stack @ W).split(sizes)
        linear = recurrent if A is None else (stack @ A).split(sizes)
        z = recurrent[0] + u
        if activation.value is torch.tanh:
            # One tanh in place of three: this loop is what training waits for.
            value = torch.tanh(z)
            slope = 1 - value.square()
        else:
            value, slope = activation(z), activation.slope(z)

        def pushed(k: int) -> Tensor:
            return slope * recurrent[k] if A is None else torch.addcmul(linear[k], slope, recurrent[k])

        f = value if A is None else linear[0] + value
        w_rate = None
        if w is not None:
            bent = -2 * value * slope if activation.value is torch.tanh else activation.second_derivative(z)
            w_rate = torch.addcmul(pushed(2), bent, recurrent[1].square())
        return f, pushed(1), w_rate, None if shift is None else pushed(len(parts) - 1)

    return rate


def _automatic(drift: Drift) -> Callable[..., Rates]:
    """The same for any drift."""

    def rate(h: One, u: Drive, v: Each, w: Each | None, shift: One | None) -> Rates:
        J = jacobian(drift, h[0], u)

        def pushed(vectors: Tensor) -> Tensor:
            return torch.einsum("bij,kbj->kbi", J, vectors)

        w_rate = None
        if w is not None:
            w_rate = pushed(w) + second_variation(drift, h.repeat(len(v), 1, 1), u.repeat(len(v), 1, 1), v)
        return drift(h[0], u).unsqueeze(0), pushed(v), w_rate, None if shift is None else pushed(shift)

    return rate


def _kick(network: Network, x: Sequence, generator: torch.Generator, probes: int) -> Callable[..., Each]:
    """N xi at each step, xi = +-1: a fresh set of signs for each step, probe and sample."""

    def signs(count: int) -> tuple[Tensor, ...]:
        shape = (x.shape[1], probes, x.shape[0], count)
        drawn = torch.randint(0, 2, shape, generator=generator, dtype=x.dtype, device=generator.device)
        return (2 * drawn - 1).to(x.device).unbind(0)

    diffusion, released = network.diffusion, network.released
    xi, steps = signs(diffusion.noises(network.units)), network.steps(x)
    if released is None:
        roots = steps.unbind(0) if diffusion.coupling is Coupling.SILENT else network.root_steps(x).unbind(0)
        return lambda m, h, f: roots[m] * diffusion(h.expand(probes, -1, -1), f.expand(probes, -1, -1), xi[m])
    more, factor = signs(network.units), released.multiplicative / 12**0.5
    # Unbound once: the gradient of steps[m] would be as large as all steps together, at every step.
    sizes = steps.unbind(0)
    return lambda m, h, f: (
        diffusion(h.expand(probes, -1, -1), f.expand(probes, -1, -1), xi[m]) + factor * sizes[m] * f * more[m]
    )
