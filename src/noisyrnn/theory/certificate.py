r"""Sound certificates: radii within which no input perturbation changes the class. What they share, and the global one.

    GLOBAL: s_m >= sup_{D in [slope_min, slope_max]^d} ||I + dt_m (A + D W)||,
            r = min_j phi_j / ( ||V^T (e_y - e_j)|| L_a sqrt(sum_m ||dt_m U||^2 prod_{k > m} s_k^2) )

The supremum is convex in D, so the 2^d corners give it exactly (used for d <= 12); otherwise
||I + dt (A + mid W)|| + half ||dt W||, mid and half of the slope interval. For l_inf attacks the root of squares over
time becomes a sum, and the induced infinity norm, whose supremum is exact row by row, is tried beside it.

**Floating point.** A radius is computed in double precision from double copies of the weights. The rounding errors of
the network's own evaluation are bounded step by step to first order in the unit roundoff of ``precision``, carried to
the output by the adjoint at x, and taken off phi twice (for x and for the perturbed input). The radius is then shrunk
by 1e-9 for the rounding of the norms themselves. There is no directed rounding: that, and the first order, is what
"sound" leaves open.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from noisyrnn.sde import TanhDrift
from noisyrnn.setting import Norm
from noisyrnn.theory.jacobian import Trajectory, trajectory
from noisyrnn.theory.margin import Labels, contrasts, gaps, slopes
from noisyrnn.theory.network import Network
from noisyrnn.types import Sequence

SHRINK = 1e-9
"""Relative safety shrink of every certified radius."""

_CORNERS = 12  # units up to which all 2^d corners of the slope box are tried


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """Certified radius of each sample; 0 where it is misclassified (``correct`` says which)."""

    radius: Float[Tensor, " batch"]
    correct: Bool[Tensor, " batch"]
    norm: Norm
    method: str
    precision: torch.dtype

    def certified_accuracy(self, radius: float) -> float:
        """Share of the samples that are classified correctly and stay so within ``radius``."""
        return float((self.correct & (self.radius >= radius)).double().mean())

    def __str__(self) -> str:
        wrong = int((~self.correct).sum())
        return (
            f"{self.method} certificate for {self.norm.value} perturbations: median radius "
            f"{float(self.radius.median()):.3g}, {wrong} of {len(self.radius)} samples misclassified (radius 0); "
            f"holds for evaluation in {str(self.precision).removeprefix('torch.')} up to first order in its rounding, "
            f"after a shrink by {SHRINK:g}."
        )


def global_certificate(
    network: Network, x: Sequence, y: Labels, *, norm: Norm = Norm.L2, precision: torch.dtype = torch.float64
) -> Certificate:
    """r from Lipschitz constants that hold for all inputs: cheap, and exponentially small in M where s_m > 1.

    >>> from noisyrnn.theory.problems import reference
    >>> P = reference(label=2)
    >>> global_certificate(P.network, P.x, P.y).radius.item()
    0.545498809...
    """
    net, drift, V, path = double(network, x)
    phi = gaps(net.readout(path.h[-1]), y)
    contrast = contrasts(V, y)
    kick = drift.activation.lipschitz * _kicks(path.dt, drift.U, norm)
    gains = []
    chains: list[tuple[Tensor, float, Tensor]] = [(_spectral_gain(drift, path.dt), 2, kick)]
    if norm is Norm.LINF:
        row = (path.dt.abs().unsqueeze(-1) * drift.U.abs()).sum(-1).amax(-1) * drift.activation.lipschitz
        chains.append((_row_gain(drift, path.dt), torch.inf, row))
    for gain, order, into in chains:
        # ahead[m] = prod_{k > m} s_k
        ahead = torch.cat((gain[1:].flip(0).cumprod(0).flip(0), torch.ones_like(gain[:1])))
        size = contrast.norm(p=2 if order == 2 else 1, dim=-1).mT
        reach = (ahead * into).norm(dim=0) if norm is Norm.L2 else (ahead * into).sum(0)
        gains.append(size * reach.unsqueeze(-1))
    room = phi - evaluation_error(path, slopes(path, y)[1], precision)
    radii = torch.stack([(room / gain).amin(-1) for gain in gains]).amax(0)
    return sealed(radii, phi, norm=norm, method="global", precision=precision)


def sealed(radius: Tensor, phi: Tensor, *, norm: Norm, method: str, precision: torch.dtype) -> Certificate:
    """The certificate of these radii: shrunk, and 0 where nothing is certified."""
    correct = phi.amin(-1) > 0
    sure = correct & (radius > 0)
    shrunk = torch.where(sure, radius * (1 - SHRINK), torch.zeros_like(radius))
    return Certificate(radius=shrunk, correct=correct, norm=norm, method=method, precision=precision)


def double(network: Network, x: Sequence) -> tuple[Network, TanhDrift, Tensor, Trajectory]:
    """The network in double precision without history, its drift, its readout and its path on x."""
    drift = network.drift
    if not isinstance(drift, TanhDrift):
        raise ValueError(
            f"A certificate needs a drift A h + a(W h + U x + b), got {type(drift).__name__}; "
            "use smoothing, which certifies any classifier."
        )
    if network.V is None:
        raise ValueError("A certificate needs classes, but this network has no readout; give Network(..., V=matrix).")

    def wide(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.detach().double()

    exact = TanhDrift(
        A=wide(drift.A), W=drift.W.detach().double(), U=drift.U.detach().double(), b=drift.b.detach().double(),
        activation=drift.activation,
    )  # fmt: skip
    V = network.V.detach().double()
    dt = network.dt.detach().double() if isinstance(network.dt, Tensor) else network.dt
    net = Network(drift=exact, dt=dt, V=V, c=wide(network.c), h0=wide(network.h0))
    return net, exact, V, trajectory(net, x.detach().double())


def evaluation_error(
    path: Trajectory, covectors: Float[Tensor, "time classes batch units"], precision: torch.dtype
) -> Float[Tensor, "batch classes"]:
    """Rounding error of each logit gap, to first order in the unit roundoff: sum_m |lambda_{m+1}| . error of step m."""
    drift, V, c = path.network.drift, path.network.V, path.network.c
    if not isinstance(drift, TanhDrift) or V is None:
        raise ValueError(f"Rounding is bounded for TanhDrift with a readout only, got {type(drift).__name__}.")
    h, x = path.h[:-1].abs(), path.x.transpose(0, 1).abs()
    inner = h @ drift.W.abs().mT + x @ drift.U.abs().mT + drift.b.abs()
    linear = 0.0 if drift.A is None else h @ drift.A.abs().mT
    z = drift.preactivation(path.h[:-1], path.u)
    terms = h + path.dt.abs() * (drift.activation.lipschitz * inner + linear + drift.activation(z).abs())
    carried = torch.einsum("mkbd,mbd->bk", covectors.abs(), terms)
    last = path.h[-1].abs() @ V.abs().mT + (0.0 if c is None else c.abs())
    return _roundoff(precision, drift.units + drift.inputs) * (carried + 2 * last.amax(-1, keepdim=True))


def _roundoff(precision: torch.dtype, terms: int) -> float:
    # Twice: once for the evaluation at x, once for the one at the perturbed input. A sum of n products errs by at most
    # n units; eight more cover the activation, the step and the sum.
    return 2 * (terms + 8) * torch.finfo(precision).eps


def _kicks(dt: Tensor, U: Tensor, norm: Norm) -> Float[Tensor, "time batch"]:
    """||diag(dt_m) U|| from the attack's norm over features to the 2-norm over units."""
    stepped = dt.unsqueeze(-1) * U
    if norm is Norm.L2:
        return torch.linalg.matrix_norm(stepped, 2)
    # The exact norm from l_inf to l_2 is hard; both of these bound it, and they are exact for one feature.
    return torch.minimum(stepped.norm(dim=-2).sum(-1), U.shape[1] ** 0.5 * torch.linalg.matrix_norm(stepped, 2))


def _spectral_gain(drift: TanhDrift, dt: Tensor) -> Float[Tensor, "time batch"]:
    """s_m >= sup_D ||I + diag(dt_m) (A + D W)||_2."""
    low, high = drift.activation.slope_min, drift.activation.slope_max
    A = torch.zeros_like(drift.W) if drift.A is None else drift.A
    identity = torch.eye(drift.units, dtype=A.dtype)
    distinct, where = torch.unique(dt.reshape(-1, drift.units), dim=0, return_inverse=True)
    gains = []
    for row in distinct.unsqueeze(-1):
        if drift.units <= _CORNERS and low < high:
            corners = torch.tensor(list(itertools.product((low, high), repeat=drift.units)), dtype=A.dtype)
            steps = identity + row * (A + corners.unsqueeze(-1) * drift.W)
            gains.append(torch.linalg.matrix_norm(steps, 2).amax())
        else:
            centre = torch.linalg.matrix_norm(identity + row * (A + 0.5 * (low + high) * drift.W), 2)
            gains.append(centre + 0.5 * (high - low) * torch.linalg.matrix_norm(row * drift.W, 2))
    return torch.stack(gains)[where].reshape(dt.shape[:2])


def _row_gain(drift: TanhDrift, dt: Tensor) -> Float[Tensor, "time batch"]:
    """sup_D ||I + diag(dt_m) (A + D W)||_inf, exactly: a row depends on its own slope alone."""
    A = torch.zeros_like(drift.W) if drift.A is None else drift.A
    identity = torch.eye(drift.units, dtype=A.dtype)
    ends = [
        (identity + dt.unsqueeze(-1) * (A + slope * drift.W)).abs().sum(-1).amax(-1)
        for slope in (drift.activation.slope_min, drift.activation.slope_max)
    ]
    return torch.maximum(*ends)
