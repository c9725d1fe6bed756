r"""Constants of the paper's Section B: Lipschitz L and linear growth K of a system.

    ||f(h) - f(h')|| + ||g(h) - g(h')||_F <= L ||h - h'||,        ||f(h)||^2 + ||g(h)||_F^2 <= K (1 + ||h||^2)

The paper's Lemma takes L = max(L_f, L_g); a sum of two terms needs the sum L_f + L_g. Its K is right but loose:
(L h + C)^2 <= (L^2 + C^2)(1 + h^2) by the Cauchy-Schwarz inequality, where the paper has (L + C)^2.
"""

from __future__ import annotations

from torch import Tensor

from noisyrnn.sde.system import SDE


def lipschitz_constant(sde: SDE) -> float:
    """L = L_f + L_g.

    >>> import torch
    >>> from noisyrnn.sde import DriftNoise, TanhDrift
    >>> drift = TanhDrift(A=-torch.eye(2), W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
    >>> lipschitz_constant(SDE(drift, DriftNoise(multiplicative=0.5)))
    3.0
    """
    drift, diffusion = _pair(sde)
    return drift + diffusion


def lipschitz_constant_as_printed(sde: SDE) -> float:
    """max(L_f, L_g): the paper's choice, too small where both are positive."""
    return max(_pair(sde))


def growth_constant(sde: SDE, drives: Tensor) -> float:
    """K = L_f^2 + C_f^2 + L_g^2 + C_g^2, with C the largest ||f(0, u)||, ||g(0, u)||_F over the given drives.

    ``drives`` are the encoded inputs, (..., drive): the constant holds for these inputs, not for all.
    """
    return sum(slope**2 + level**2 for slope, level in _terms(sde, drives))


def growth_constant_as_printed(sde: SDE, drives: Tensor) -> float:
    """K = (L_f + C_f)^2 + (L_g + C_g)^2: the paper's way, right but larger."""
    return sum((slope + level) ** 2 for slope, level in _terms(sde, drives))


def _pair(sde: SDE) -> tuple[float, float]:
    drift = sde.drift.built().lipschitz()
    return drift, sde.diffusion.lipschitz(drift)


def _terms(sde: SDE, drives: Tensor) -> tuple[tuple[float, float], tuple[float, float]]:
    slope_f, slope_g = _pair(sde)
    flat = drives.detach().reshape(-1, drives.shape[-1])
    origin = flat.new_zeros(flat.shape[0], sde.units)
    f = sde.drift.built()(origin, flat).detach()
    g = sde.diffusion.matrix(origin, f).detach()
    level_g = float(g.norm(dim=(-2, -1)).max()) if g.numel() else 0.0
    return (slope_f, float(f.norm(dim=-1).max())), (slope_g, level_g)
