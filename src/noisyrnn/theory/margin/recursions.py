r"""How far a perturbation of size r moves each preactivation, rho_m, and what the tangent errors then do to the gaps.

The two recursions are those of :mod:`noisyrnn.theory.margin.local_certificate`: :class:`Ball` carries one norm from
step to step, :class:`Adjoint` the errors of every earlier step by themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import TanhDrift
from noisyrnn.setting import Norm
from noisyrnn.theory.margin.tangent_error import tangent_error
from noisyrnn.theory.system.tangent import Tangent, Trajectory

Radii = Float[Tensor, "batch trials"]

_NORM_SAFETY = 1e-10  # the largest eigenvalue of J^T J is right to about d^2 units of roundoff
_GRAM_SAFETY = 1e-12  # what W G W^T may lose by cancellation, in units of ||W_i||^2 tr G


class Recursion(ABC):
    """rho_m of one batch, and what the tangent errors do to phi."""

    def __init__(self, path: Trajectory, drift: TanhDrift, norm: Norm) -> None:
        self.activation = drift.activation
        self.z = drift.preactivation(path.h[:-1], path.u)
        self.dt = path.dt.abs()
        self.own = drift.U.norm(dim=-1) if norm is Norm.L2 else drift.U.abs().sum(-1)
        self.prepare(path, drift, norm)

    @abstractmethod
    def prepare(self, path: Trajectory, drift: TanhDrift, norm: Norm) -> None: ...

    @abstractmethod
    def stray(self, r: Radii, covectors: Tensor) -> Float[Tensor, "batch trials classes"]:
        """sum_m |lambda_{m+1}| . (|dt_m| kappa_m(rho_m))."""

    def error(self, m: int, rho: Float[Tensor, "batch trials units"]) -> Float[Tensor, "batch trials units"]:
        """|dt_m| kappa_m(rho_m)."""
        return self.dt[m].unsqueeze(1) * tangent_error(self.activation, self.z[m].unsqueeze(1), rho)


class Ball(Recursion):
    """rho_m = r lin_m + ||W_i|| q_m, with q_m a bound of the norm of all that the linearisation left out so far."""

    def prepare(self, path: Trajectory, drift: TanhDrift, norm: Norm) -> None:
        tangent = Tangent(path)
        batch, units = path.h.shape[1:]
        self.rows = drift.W.norm(dim=-1)
        lin, gains = [], []
        G = path.h.new_zeros(batch, units, units)
        columns = path.h.new_zeros(batch, units, 0)
        for m in range(path.length):
            J, kick = tangent.matrix(m), path.dt[m].unsqueeze(-1) * tangent.input_matrix(m)
            gains.append(torch.linalg.eigvalsh(J.mT @ J)[:, -1].clamp(min=0).sqrt() * (1 + _NORM_SAFETY))
            if norm is Norm.L2:
                lost = _GRAM_SAFETY * self.rows.square() * G.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)
                lin.append((((drift.W @ G) * drift.W).sum(-1) + lost + self.own.square()).sqrt())
                G = J @ G @ J.mT + kick @ kick.mT
            else:
                lin.append((drift.W @ columns).abs().sum(-1) + self.own)
                columns = torch.cat((J @ columns, kick), -1)
        self.lin, self.gains = torch.stack(lin), torch.stack(gains)

    def stray(self, r: Radii, covectors: Tensor) -> Float[Tensor, "batch trials classes"]:
        q = torch.zeros_like(r)
        total = r.new_zeros(*r.shape, covectors.shape[1])
        for m in range(len(self.lin)):
            rho = r.unsqueeze(-1) * self.lin[m].unsqueeze(1) + self.rows * q.unsqueeze(-1)
            error = self.error(m, rho)
            total += error @ covectors[m].permute(1, 2, 0)
            q = self.gains[m].unsqueeze(1) * q + error.norm(dim=-1)
        return total


class Adjoint(Recursion):
    """rho_m = r lin_m + sum_{k<m} |W P_{m,k+1} dt_k| kappa_k, unit by unit."""

    def prepare(self, path: Trajectory, drift: TanhDrift, norm: Norm) -> None:
        tangent = Tangent(path)
        batch, units = path.h.shape[1:]
        steps = path.length
        self.blocks = [path.h.new_empty(batch, units, m * units) for m in range(steps)]
        lin = self.own.expand(steps, batch, units)
        lin = lin.square() if norm is Norm.L2 else lin.clone()
        # Y_m = W P_{m,k+1} for all m > k at once, going down in k: one large product per step.
        Y = path.h.new_zeros(batch, 0, units)
        for k in range(steps - 2, -1, -1):
            if k < steps - 2:
                Y = Y @ tangent.matrix(k + 1)
            Y = torch.cat((drift.W.expand(batch, units, units), Y), 1)
            moved = (Y @ (path.dt[k].unsqueeze(-1) * tangent.input_matrix(k))).unflatten(1, (-1, units))
            size = moved.square().sum(-1) if norm is Norm.L2 else moved.abs().sum(-1)
            lin[k + 1 :] += size.transpose(0, 1)
            weights = Y.abs().unflatten(1, (-1, units))
            for offset, m in enumerate(range(k + 1, steps)):
                self.blocks[m][:, :, k * units : (k + 1) * units] = weights[:, offset]
        self.lin = lin.sqrt() if norm is Norm.L2 else lin

    def stray(self, r: Radii, covectors: Tensor) -> Float[Tensor, "batch trials classes"]:
        batch, trials = r.shape
        units = self.lin.shape[-1]
        errors = r.new_empty(batch, len(self.lin) * units, trials)
        total = r.new_zeros(batch, trials, covectors.shape[1])
        for m, block in enumerate(self.blocks):
            carried = (block @ errors[:, : m * units]).mT
            error = self.error(m, r.unsqueeze(-1) * self.lin[m].unsqueeze(1) + carried)
            errors[:, m * units : (m + 1) * units] = error.mT
            total += error @ covectors[m].permute(1, 2, 0)
        return total
