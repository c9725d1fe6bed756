r"""The global certificate: a sound radius from Lipschitz constants that hold for all inputs.

    s_m >= sup_{D in [slope_min, slope_max]^d} ||I + dt_m (A + D W)||,
    r = min_j phi_j / ( ||V^T (e_y - e_j)|| L_a sqrt(sum_m ||dt_m U||^2 prod_{k > m} s_k^2) )

The supremum is convex in D, so the 2^d corners give it exactly (used for d <= 12); otherwise
||I + dt (A + mid W)|| + half ||dt W||, mid and half of the slope interval. For l_inf attacks the root of squares over
time becomes a sum, and the induced infinity norm, whose supremum is exact row by row, is tried beside it.
"""

from __future__ import annotations

import itertools

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import TanhDrift
from noisyrnn.setting import Norm
from noisyrnn.theory.margin.bounds import Labels, contrasts
from noisyrnn.theory.margin.certificate import Certificate, linearisation, shrunk_certificate
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Sequence

_CORNERS = 12  # units up to which all 2^d corners of the slope box are tried


def global_certificate(
    network: Network, x: Sequence, y: Labels, *, norm: Norm = Norm.L2, precision: torch.dtype = torch.float64
) -> Certificate:
    """r from Lipschitz constants that hold for all inputs: cheap, and exponentially small in M where s_m > 1.

    Parameters
    ----------
    network, x, y
        The network, its inputs and their labels; misclassified inputs get radius 0.
    norm
        How perturbations are measured.
    precision
        In which the network is evaluated, so that its rounding can be allowed for.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(label=2)
    >>> global_certificate(P.network, P.x, P.y).radius.item()
    0.545498809...
    """
    at_x = linearisation(network, x, y, precision)
    drift, path, contrast = at_x.drift, at_x.path, contrasts(at_x.V, y)
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
        total = (ahead * into).norm(dim=0) if norm is Norm.L2 else (ahead * into).sum(0)
        gains.append(size * total.unsqueeze(-1))
    radii = torch.stack([(at_x.room / gain).amin(-1) for gain in gains]).amax(0)
    return shrunk_certificate(radii, at_x.phi, norm=norm, method="global", precision=precision)


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
