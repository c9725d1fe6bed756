r"""Sound local certificates: linearise the network at x exactly, and bound what the linearisation leaves out.

A perturbation dx of size r moves the preactivations of step m by at most rho_m (unit by unit), where with
kappa_k = kappa(z_k, rho_k) of :mod:`noisyrnn.theory.margin.tangent_error` and D_k = diag a'(z_k)

    adjoint:  rho_m = r lin_m + sum_{k<m} |W P_{m,k+1} dt_k| kappa_k                 O(M^2 d^3), O(M^2 d^2) memory
    ball:     rho_m = r lin_m + ||W_i|| q_m,   q_{m+1} = ||J_m|| q_m + ||dt_m kappa_m||      O(M d^3)

    lin_{m,i}^2 = ||U_i||^2 + sum_{k<m} ||[W P_{m,k+1} dt_k D_k U]_i||^2             (l_inf attacks: 1-norms, and sums)

CERTIFIED at r iff for all j != y, with lambda^(j) the adjoint of phi_j = z_y - z_j,

    phi_j(x) - r ||grad phi_j(x)||_dual - sum_m |lambda^(j)_{m+1}| . (|dt_m| kappa_m) > 0.

Proof: e_{m+1} = J_m e_m + dt D U dx_m + dt k_m with |k_m| <= kappa_m; unroll. No assumption on a convex hull is needed.
The condition is monotone in r, which is narrowed down from both sides. ``adjoint`` suits short sequences (140 steps of
128 units: about 1.3 GB per sample); ``ball`` suits any length, but multiplies ||J_m||, so its radius may be tiny on
long ones: it is reported as it is. For those, :mod:`noisyrnn.theory.margin.randomised_smoothing` certifies with stated
confidence.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.setting import Norm
from noisyrnn.theory.margin.bounds import Labels, dual
from noisyrnn.theory.margin.certificate import Certificate, linearisation, shrunk_certificate
from noisyrnn.theory.margin.recursions import Adjoint, Ball, Radii, Recursion
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Sequence

_TRIALS = 8  # radii tried in one pass
_DECADES = 300  # how far below the first-order distance a radius is looked for


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
    """Certified radii by the 'ball' recursion: O(M d^3) per sample, any length.

    Parameters
    ----------
    network, x, y
        The network, its inputs and their labels; misclassified inputs get radius 0.
    norm
        How perturbations are measured.
    tolerance
        Relative width to which a radius is narrowed down, from below.
    precision
        In which the network is evaluated, so that its rounding can be allowed for.
    chunk
        Samples that are in memory at once.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(label=2)
    >>> 0.5 < ball_certificate(P.network, P.x, P.y).radius.item() < 0.6868
    True
    """
    return _certificate(Ball, network, x, y, norm, tolerance, precision, chunk, "local (ball)")


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
    """Certified radii by the 'adjoint' recursion, the sharpest: O(M^2 d^3) per sample.

    Parameters
    ----------
    network, x, y
        The network, its inputs and their labels; misclassified inputs get radius 0.
    norm
        How perturbations are measured.
    tolerance
        Relative width to which a radius is narrowed down, from below.
    precision
        In which the network is evaluated, so that its rounding can be allowed for.
    memory
        Bytes that it may take; a sample that needs more is refused.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(label=2)
    >>> adjoint_certificate(P.network, P.x, P.y, tolerance=1e-10).radius.item()
    0.68682116...
    """
    steps, units = x.shape[1], network.units
    each = 8.0 * units**2 * steps * (0.5 * steps + 2)
    if each > memory:
        raise ValueError(
            f"The adjoint certificate needs {each / 1e9:.1f} GB per sample for {steps} steps of {units} units, more "
            f"than memory={memory / 1e9:.1f} GB; use ball_certificate or smoothing, or allow more."
        )
    return _certificate(Adjoint, network, x, y, norm, tolerance, precision, int(memory // each), "local (adjoint)")


def _certificate(
    recursion: type[Recursion],
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
            at_x = linearisation(network.part(slice(start, start + chunk)), part, labels, precision)
            local = recursion(at_x.path, at_x.drift, norm)
            steepness = dual(norm, at_x.slope).mT
            radii.append(_widest(local, at_x.room, steepness, at_x.covectors.abs(), tolerance))
            all_gaps.append(at_x.phi)
    return shrunk_certificate(torch.cat(radii), torch.cat(all_gaps), norm=norm, method=method, precision=precision)


def _widest(
    local: Recursion,
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
