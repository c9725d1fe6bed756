r"""Sound local certificates: linearise the network at x exactly, and bound what the linearisation leaves out.

A perturbation dx of size r moves the preactivations of step m by at most rho_m (unit by unit), where with
kappa_k = kappa(z_k, rho_k) of :mod:`noisyrnn.theory.taylor` and D_k = diag a'(z_k)

    adjoint:  rho_m = r lin_m + sum_{k<m} |W P_{m,k+1} dt_k| kappa_k                 O(M^2 d^3), O(M^2 d^2) memory
    ball:     rho_m = r lin_m + ||W_i|| q_m,   q_{m+1} = ||J_m|| q_m + ||dt_m kappa_m||      O(M d^3)

    lin_{m,i}^2 = ||U_i||^2 + sum_{k<m} ||[W P_{m,k+1} dt_k D_k U]_i||^2             (l_inf attacks: 1-norms, and sums)

CERTIFIED at r iff for all j != y, with lambda^(j) the adjoint of phi_j = z_y - z_j,

    phi_j(x) - r ||grad phi_j(x)||_dual - sum_m |lambda^(j)_{m+1}| . (|dt_m| kappa_m) > 0.

Proof: e_{m+1} = J_m e_m + dt D U dx_m + dt k_m with |k_m| <= kappa_m; unroll. No assumption on a convex hull is needed.
The condition is monotone in r, which is narrowed down from both sides. ``adjoint`` suits short sequences (140 steps of
128 units: about 1.3 GB a sample); ``ball`` suits any length, but multiplies ||J_m||, so its radius may be tiny on long
ones: it is reported as it is. For those, :mod:`noisyrnn.theory.smoothing` certifies with stated confidence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import TanhDrift
from noisyrnn.setting import Norm
from noisyrnn.theory.certificate import Certificate, double, evaluation_error, sealed
from noisyrnn.theory.jacobian import Tangent, Trajectory
from noisyrnn.theory.margin import Labels, dual, gaps, slopes
from noisyrnn.theory.network import Network
from noisyrnn.theory.taylor import tangent_error
from noisyrnn.types import Sequence

Radii = Float[Tensor, "batch trials"]

_TRIALS = 8  # radii tried in one pass
_DECADES = 300  # how far below the first-order distance a radius is looked for
_NORM_SAFETY = 1e-10  # the largest eigenvalue of J^T J is right to about d^2 units of roundoff
_GRAM_SAFETY = 1e-12  # what W G W^T may lose by cancellation, in units of ||W_i||^2 tr G


def ball_certificate(
    network: Network,
    x: Sequence,
    y: Labels,
    *,
    norm: Norm = Norm.L2,
    tolerance: float = 1e-4,
    precision: torch.dtype = torch.float64,
    chunk: int = 64,
) -> Certificate:
    """Certified radii by the 'ball' recursion: O(M d^3) a sample, any length; ``chunk`` samples at once.

    >>> from noisyrnn.theory.problems import reference
    >>> P = reference(label=2)
    >>> 0.5 < ball_certificate(P.network, P.x, P.y).radius.item() < 0.6868
    True
    """
    return _certificate(_Ball, network, x, y, norm, tolerance, precision, chunk, "local (ball)")


def adjoint_certificate(
    network: Network,
    x: Sequence,
    y: Labels,
    *,
    norm: Norm = Norm.L2,
    tolerance: float = 1e-4,
    precision: torch.dtype = torch.float64,
    memory: float = 4e9,
) -> Certificate:
    """Certified radii by the 'adjoint' recursion, the sharpest: O(M^2 d^3) a sample, within ``memory`` bytes.

    >>> from noisyrnn.theory.problems import reference
    >>> P = reference(label=2)
    >>> adjoint_certificate(P.network, P.x, P.y, tolerance=1e-10).radius.item()
    0.68682116...
    """
    steps, units = x.shape[1], network.units
    each = 8.0 * units**2 * steps * (0.5 * steps + 2)
    if each > memory:
        raise ValueError(
            f"The adjoint certificate needs {each / 1e9:.1f} GB a sample for {steps} steps of {units} units, more than "
            f"memory={memory / 1e9:.1f} GB; use ball_certificate or smoothing, or allow more."
        )
    return _certificate(_Adjoint, network, x, y, norm, tolerance, precision, int(memory // each), "local (adjoint)")


def _certificate(
    recursion: type[_Recursion],
    network: Network,
    x: Sequence,
    y: Labels,
    norm: Norm,
    tolerance: float,
    precision: torch.dtype,
    chunk: int,
    method: str,
) -> Certificate:
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance is the relative width of the last bracket, in (0, 1), got {tolerance}.")
    radii, all_gaps = [], []
    with torch.no_grad():
        for start in range(0, x.shape[0], chunk):
            part, labels = x[start : start + chunk], y[start : start + chunk]
            net, drift, _, path = double(network.part(slice(start, start + chunk)), part)
            phi = gaps(net.readout(path.h[-1]), labels)
            slope, covectors = slopes(path, labels)
            room = phi - evaluation_error(path, covectors, precision)
            local = recursion(path, drift, norm)
            radii.append(_widest(local, room, dual(norm, slope).mT, covectors.abs(), tolerance))
            all_gaps.append(phi)
    return sealed(torch.cat(radii), torch.cat(all_gaps), norm=norm, method=method, precision=precision)


def _widest(
    local: _Recursion,
    room: Float[Tensor, "batch classes"],
    steepness: Float[Tensor, "batch classes"],
    covectors: Float[Tensor, "time classes batch units"],
    tolerance: float,
) -> Float[Tensor, " batch"]:
    """Largest r at which room_j - r steepness_j - stray_j(r) > 0 for all j, to a relative tolerance, from below."""
    limit = (room / steepness).amin(-1).clamp(min=0)
    open_ = (limit > 0) & limit.isfinite()
    low, high = torch.zeros_like(limit), limit.clone()

    def certified(r: Radii) -> Tensor:
        stray = local.stray(r, covectors)
        return (room.unsqueeze(1) - r.unsqueeze(-1) * steepness.unsqueeze(1) - stray > 0).all(-1) & open_.unsqueeze(1)

    def narrow(r: Radii) -> None:
        # r increases along the trials; NaN from an overflow compares as not certified.
        count = certified(r).cumprod(1).sum(1, keepdim=True)
        padded = torch.cat((low.unsqueeze(1), r, high.unsqueeze(1)), 1)
        low.copy_(padded.gather(1, count).squeeze(1))
        high.copy_(padded.gather(1, count + 1).squeeze(1))

    decade = 0
    while decade < _DECADES and bool((open_ & (low == 0)).any()):
        # Half decades downwards from the first-order distance, which no certified radius exceeds.
        exponents = 0.5 * torch.arange(_TRIALS - 1, -1, -1, dtype=torch.float64) + decade
        trial = limit.unsqueeze(1) * 10.0**-exponents
        searched = torch.where((low == 0).unsqueeze(1), trial, low.unsqueeze(1))
        narrow(torch.where(open_.unsqueeze(1), searched, torch.zeros_like(trial)))
        decade += _TRIALS // 2
    fractions = torch.arange(1, _TRIALS + 1, dtype=torch.float64) / (_TRIALS + 1)
    while bool((open_ & (low > 0) & (high - low > tolerance * high)).any()):
        narrow(torch.lerp(low.unsqueeze(1), high.unsqueeze(1), fractions))
    return low


class _Recursion(ABC):
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


class _Ball(_Recursion):
    def prepare(self, path: Trajectory, drift: TanhDrift, norm: Norm) -> None:
        tangent = Tangent(path)
        batch, units = path.h.shape[1:]
        self.rows = drift.W.norm(dim=-1)
        lin, gains = [], []
        G = path.h.new_zeros(batch, units, units)
        columns = path.h.new_zeros(batch, units, 0)
        for m in range(path.length):
            J, kick = tangent.matrix(m), path.dt[m].unsqueeze(-1) * tangent.inputs(m)
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


class _Adjoint(_Recursion):
    def prepare(self, path: Trajectory, drift: TanhDrift, norm: Norm) -> None:
        tangent = Tangent(path)
        batch, units = path.h.shape[1:]
        steps = path.length
        self.blocks = [path.h.new_empty(batch, units, m * units) for m in range(steps)]
        lin = self.own.expand(steps, batch, units)
        lin = lin.square() if norm is Norm.L2 else lin.clone()
        # Y_m = W P_{m,k+1} for all m > k at once, going down in k: one large product a step.
        Y = path.h.new_zeros(batch, 0, units)
        for k in range(steps - 2, -1, -1):
            if k < steps - 2:
                Y = Y @ tangent.matrix(k + 1)
            Y = torch.cat((drift.W.expand(batch, units, units), Y), 1)
            moved = (Y @ (path.dt[k].unsqueeze(-1) * tangent.inputs(k))).unflatten(1, (-1, units))
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
