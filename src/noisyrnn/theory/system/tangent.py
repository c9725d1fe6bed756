r"""The path of the noise-free network, and the derivatives of each of its steps.

    J_m = I + diag(dt_m) f'(hbar_m, x_m),      P_{m,k} = J_{m-1} ... J_k = d hbar_m / d hbar_k,      P_{k,k} = I

The paper's main text writes Phi_{m,k} = J_m ... J_k = P_{m+1,k}; its proof of Theorem 2 writes Phi_{m+1,k} for the same
product. This library has P only.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import TanhDrift
from noisyrnn.theory.system.derivatives import curvature, input_jacobian, jacobian
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Sequence


@dataclass(frozen=True, eq=False)
class Trajectory:
    """hbar_0 .. hbar_M of the noise-free network on x, with drives, drifts and steps; time first."""

    network: Network
    x: Sequence
    h: Float[Tensor, "states batch units"]
    u: Float[Tensor, "time batch drive"]
    f: Float[Tensor, "time batch units"]
    dt: Float[Tensor, "time batch units"]

    @property
    def length(self) -> int:
        return self.f.shape[0]


def trajectory(network: Network, x: Sequence) -> Trajectory:
    """hbar_{m+1} = hbar_m + dt_m f(hbar_m, x_m).

    >>> drift = TanhDrift(A=-torch.eye(1), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> trajectory(Network(drift=drift, dt=0.5, h0=torch.ones(1)), torch.zeros(1, 2, 1)).h.flatten()
    tensor([1.0000, 0.5000, 0.2500])
    """
    if x.shape[1] == 0:
        raise ValueError("A trajectory needs at least one input, got a sequence of length 0.")
    h, states, drifts = network.start(x), [], []
    u, dt = network.drift.encode(x).transpose(0, 1), network.steps(x)
    states.append(h)
    for drive, step in zip(u, dt, strict=True):
        f = network.drift(h, drive)
        h = h + step * f
        states.append(h)
        drifts.append(f)
    return Trajectory(network, x, torch.stack(states), u, torch.stack(drifts), dt)


class Tangent:
    """Derivatives of each step of a trajectory: J_m, its transpose, d f / d x_m and the drift's second derivative."""

    def __init__(self, path: Trajectory) -> None:
        self.path = path
        self.drift = path.network.drift
        self.closed = isinstance(self.drift, TanhDrift)
        if isinstance(self.drift, TanhDrift):
            z = self.drift.preactivation(path.h[:-1], path.u)
            self.slopes = self.drift.activation.slope(z)
            self.stepped = path.dt * self.slopes
        else:
            # One call of automatic differentiation for the whole path, not one per step.
            self.jacobians = jacobian(self.drift, path.h[:-1], path.u)

    def matrix(self, m: int) -> Float[Tensor, "batch units units"]:
        """J_m."""
        f_slope = jacobian(self.drift, self.path.h[m], self.path.u[m]) if self.closed else self.jacobians[m]
        identity = torch.eye(f_slope.shape[-1], dtype=f_slope.dtype, device=f_slope.device)
        return identity + self.path.dt[m].unsqueeze(-1) * f_slope

    def pull(self, m: int, covectors: Float[Tensor, "*many batch units"]) -> Float[Tensor, "*many batch units"]:
        """J_m^T lambda, without forming J_m where the drift allows."""
        if isinstance(self.drift, TanhDrift):
            pulled = covectors + (self.stepped[m] * covectors) @ self.drift.W
            return pulled if self.drift.A is None else pulled + (self.path.dt[m] * covectors) @ self.drift.A
        return torch.einsum("bij,...bi->...bj", self.matrix(m), covectors)

    def push(self, m: int, vectors: Float[Tensor, "*many batch units"]) -> Float[Tensor, "*many batch units"]:
        """J_m v, without forming J_m where the drift allows."""
        if isinstance(self.drift, TanhDrift):
            pushed = vectors + self.stepped[m] * (vectors @ self.drift.W.mT)
            return pushed if self.drift.A is None else pushed + self.path.dt[m] * (vectors @ self.drift.A.mT)
        return torch.einsum("bij,...bj->...bi", self.matrix(m), vectors)

    def curvature(self, m: int, covector: Float[Tensor, "batch units"]) -> Float[Tensor, "batch units units"]:
        """Hessian of covector . f at hbar_m; multiply the covector by dt for the whole step's."""
        return curvature(self.drift, self.path.h[m], self.path.u[m], covector)

    def input_matrix(self, m: int) -> Float[Tensor, "batch units features"]:
        """d f / d x_m = D_m U."""
        if isinstance(self.drift, TanhDrift):
            return self.slopes[m].unsqueeze(-1) * self.drift.U
        return input_jacobian(self.drift, self.path.h[m], self.path.x[:, m])


def transitions(network: Network, x: Sequence) -> Float[Tensor, "batch time units units"]:
    """P_{M,m+1} = d hbar_M / d hbar_{m+1} for m = 0 .. M-1.

    >>> drift = TanhDrift(A=-torch.eye(1), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> transitions(Network(drift=drift, dt=0.5), torch.zeros(1, 3, 1)).flatten()
    tensor([0.2500, 0.5000, 1.0000])
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    units = network.units
    P = torch.eye(units, dtype=x.dtype, device=x.device).expand(x.shape[0], units, units)
    products = [P]
    for m in range(path.length - 1, 0, -1):
        P = P @ tangent.matrix(m)
        products.append(P)
    return torch.stack(products[::-1], dim=1)
