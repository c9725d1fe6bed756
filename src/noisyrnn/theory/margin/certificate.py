r"""What all certificates share: radii within which no input perturbation changes the class, and their rounding.

**Floating point.** A radius is computed in double precision from double copies of the weights. The rounding errors of
the network's own evaluation are bounded step by step to first order in the unit roundoff of ``precision``, carried to
the output by the adjoint at x, and taken off phi twice (for x and for the perturbed input). The radius is then shrunk
by 1e-9 for the rounding of the norms themselves. There is no directed rounding: that, and the first order, is what
"sound" leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from noisyrnn.sde import TanhDrift
from noisyrnn.setting import Norm
from noisyrnn.theory.margin.bounds import Labels, gaps, slopes
from noisyrnn.theory.system.network import Network
from noisyrnn.theory.system.tangent import Trajectory, trajectory
from noisyrnn.types import Sequence

SHRINK = 1e-9
"""Relative safety shrink of every certified radius."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Linearisation:
    """A network at x in double precision: its path, its gaps phi_j = z_y - z_j, and their slopes and adjoints."""

    path: Trajectory
    drift: TanhDrift
    V: Float[Tensor, "classes units"]
    phi: Float[Tensor, "batch classes"]
    slope: Float[Tensor, "classes batch time features"]
    covectors: Float[Tensor, "time classes batch units"]
    room: Float[Tensor, "batch classes"]
    """phi less what rounding may have added to it."""


def linearisation(network: Network, x: Sequence, y: Labels, precision: torch.dtype) -> Linearisation:
    """The network's path and gaps at x, from double copies of its matrices without their history."""
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
    path = trajectory(net, x.detach().double())
    phi = gaps(net.readout(path.h[-1]), y)
    slope, covectors = slopes(path, y)
    room = phi - evaluation_error(path, covectors, precision)
    return Linearisation(path=path, drift=exact, V=V, phi=phi, slope=slope, covectors=covectors, room=room)


def shrunk_certificate(radius: Tensor, phi: Tensor, *, norm: Norm, method: str, precision: torch.dtype) -> Certificate:
    """The certificate of these radii: shrunk, and 0 where nothing is certified."""
    correct = phi.amin(-1) > 0
    sure = correct & (radius > 0)
    shrunk = torch.where(sure, radius * (1 - SHRINK), torch.zeros_like(radius))
    return Certificate(radius=shrunk, correct=correct, norm=norm, method=method, precision=precision)


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
