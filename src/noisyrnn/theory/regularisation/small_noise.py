r"""Small-noise expansion of the hidden states along one noise path, and the law of its first term.

    h_m = h^(0)_m + eps h^(1)_m + eps^2 h^(2)_m + eps^3 r_m        (Lim et al. 2021, supplement E, lemmas there)

    h^(0)  the noise-free network
    h^(1)_{m+1} = J_m h^(1)_m + n_m
    h^(2)_{m+1} = J_m h^(2)_m + dt_m f''[h^(1)_m, h^(1)_m] / 2 + Dn_m[h^(1)_m]

where n = sqrt(dt) g xi is the noise of one step at h^(0). As printed, the equation of h^(2) has a stray "sqrt(dt) +"
and a dt where the noise term needs sqrt(dt). h^(1) has mean zero and covariance C_{m+1} = J_m C_m J_m^T + N_m N_m^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jvp

from noisyrnn.theory.system.derivatives import second_variation
from noisyrnn.theory.system.loss import Loss
from noisyrnn.theory.system.network import Network
from noisyrnn.theory.system.tangent import Tangent, trajectory
from noisyrnn.types import Sequence

Noises = Float[Tensor, "steps batch noises"]
"""A noise path, time first, as :func:`noisyrnn.sde.draw` gives it."""

Uniforms = Float[Tensor, "steps batch units"]
"""Numbers in [0, 1) of the released noise, as :func:`noisyrnn.sde.uniform` gives them."""

States = Float[Tensor, "batch states units"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """h^(0), h^(1), h^(2) at m = 0 .. M, along one noise path."""

    h0: States
    h1: States
    h2: States

    def at(self, epsilon: float) -> States:
        """h^(0) + eps h^(1) + eps^2 h^(2)."""
        return self.h0 + epsilon * self.h1 + epsilon**2 * self.h2


def expansion(network: Network, x: Sequence, xi: Noises, uniforms: Uniforms | None = None) -> Expansion:
    """h^(0), h^(1), h^(2) along the noise path ``xi`` (time, batch, noises).

    Released noise takes its uniform numbers from ``uniforms`` (time, batch, units).

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4)
    >>> parts = expansion(P.network, P.x, torch.ones(6, 1, 4, dtype=torch.float64))
    >>> bool((parts.at(0.0) == parts.h0).all())
    True
    """
    path = trajectory(network, x)
    _require_length(xi, path.length)
    tangent = Tangent(path)
    first = [torch.zeros_like(path.h[0])]
    second = [torch.zeros_like(path.h[0])]
    for m in range(path.length):
        h, u, dt = path.h[m], path.u[m], path.dt[m]
        drawn = None if uniforms is None else uniforms[m]

        def noise(h: Tensor, u: Tensor = u, dt: Tensor = dt, m: int = m, drawn: Tensor | None = drawn) -> Tensor:
            return network.noise(h, network.drift(h, u), dt, xi[m], drawn)

        kick, kick_along, *_ = jvp(noise, (h,), (first[-1],))
        bent = 0.5 * dt * second_variation(network.drift, h, u, first[-1])
        second.append(tangent.push(m, second[-1]) + bent + kick_along)
        first.append(tangent.push(m, first[-1]) + kick)
    return Expansion(path.h.transpose(0, 1), torch.stack(first, 1), torch.stack(second, 1))


def noisy_states(
    network: Network,
    x: Sequence,
    xi: Noises,
    uniforms: Uniforms | None = None,
    *,
    epsilon: float = 1.0,
) -> States:
    """h_0 .. h_M of the network with noise eps n along one path: what the expansion expands.

    Parameters
    ----------
    network, x
        The network and its input.
    xi
        Noise path, (time, batch, noises).
    uniforms
        Uniform numbers of released noise, (time, batch, units).
    epsilon
        Scale of the noise.

    Returns
    -------
    Tensor
        States (batch, M + 1, units).

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4)
    >>> noisy_states(P.network, P.x, torch.zeros(6, 1, 4, dtype=torch.float64)).shape
    torch.Size([1, 7, 4])
    """
    _require_length(xi, x.shape[1])
    h, dt = network.start(x), network.steps(x)
    states = [h]
    for m, u in enumerate(network.drift.encode(x).unbind(1)):
        f = network.drift(h, u)
        noise = network.noise(h, f, dt[m], xi[m], None if uniforms is None else uniforms[m])
        h = h + dt[m] * f + epsilon * noise
        states.append(h)
    return torch.stack(states, 1)


def remainder(
    network: Network,
    x: Sequence,
    xi: Noises,
    uniforms: Uniforms | None = None,
    *,
    epsilon: float,
) -> States:
    """r = (h - h^(0) - eps h^(1) - eps^2 h^(2)) / eps^3: bounded as eps -> 0, for each path.

    Parameters
    ----------
    network, x, xi, uniforms
        As for :func:`noisy_states`.
    epsilon
        Scale of the noise, not 0.

    Returns
    -------
    Tensor
        r at m = 0 .. M, (batch, M + 1, units).

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4)
    >>> bool(remainder(P.network, P.x, torch.ones(6, 1, 4, dtype=torch.float64), epsilon=0.01).abs().max() < 1)
    True
    """
    if epsilon == 0:
        raise ValueError("The remainder is divided by eps^3, which needs eps != 0; use a small positive epsilon.")
    exact = noisy_states(network, x, xi, uniforms, epsilon=epsilon)
    return (exact - expansion(network, x, xi, uniforms).at(epsilon)) / epsilon**3


def covariance(network: Network, x: Sequence) -> Float[Tensor, "batch states units units"]:
    """C_m = E h^(1)_m h^(1)_m^T about its mean: C_0 = 0, C_{m+1} = J_m C_m J_m^T + N_m N_m^T, at m = 0 .. M.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4)
    >>> covariance(P.network, P.x)[0, 1, 0, 0].item()  # dt_0 sigma_1^2
    0.016...
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    C = [path.h.new_zeros(x.shape[0], network.units, network.units)]
    for m in range(path.length):
        J = tangent.matrix(m)
        C.append(J @ C[-1] @ J.mT + network.noise_factor(path.h[m], path.f[m], path.dt[m]).covariance())
    return torch.stack(C, 1)


@dataclass(frozen=True, eq=False)
class RunningCost:
    """dt_m C(t_m) and its bound, for each sample and step; divide by dt for the rate C(t)."""

    cost: Float[Tensor, "batch time"]
    bound: Float[Tensor, "batch time"]


def running_cost(network: Network, x: Sequence, loss: Loss) -> RunningCost:
    """dt C(t) = ||M P_{M,m+1} N_m||_F^2 / 2 <= ||M||_F^2 ||P_{M,m+1}||_F^2 ||N_m||_F^2 / 2, M^T M = Hess l(hbar_M).

    The optimal-control reading of Theorem 1: minimise l + eps^2 sum of these, which is R / 2. As printed, C(t) takes
    the Hessian of the loss at hbar_t; it must be at hbar_T.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> running_cost(P.network, P.x, P.loss).cost.sum().item()
    0.1036005318...
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    L = loss.root(path.h[-1])
    if L is None:
        raise ValueError(
            f"The running cost is a squared norm, which needs a convex loss with a root of its Hessian, got "
            f"{type(loss).__name__}; use CrossEntropy or SquaredError."
        )
    size = L.square().sum((0, -1))
    P = torch.eye(network.units, dtype=x.dtype, device=x.device).expand(x.shape[0], -1, -1)
    costs, bounds = [], []
    for m in range(path.length - 1, -1, -1):
        N = network.noise_factor(path.h[m], path.f[m], path.dt[m])
        noise = N.values.flatten(1).square().sum(-1)
        costs.append(0.5 * N.squared_norm(L))
        bounds.append(0.5 * size * P.square().sum((-2, -1)) * noise)
        L = tangent.pull(m, L)
        P = P @ tangent.matrix(m)
    return RunningCost(torch.stack(costs[::-1], 1), torch.stack(bounds[::-1], 1))


def _require_length(xi: Tensor, steps: int) -> None:
    if xi.shape[0] != steps:
        raise ValueError(f"The noise path must have one entry per step: {steps} steps, got {xi.shape[0]}.")
