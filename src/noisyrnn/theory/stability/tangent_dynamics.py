r"""One step and its derivative: (h, V) -> (h', V'), V' the image of the tangent vectors V under the step's Jacobian.

For Euler-Maruyama, with F = f'(h), per-unit steps allowed,

    h' = h + dt * f(h) + sqrt(dt) * g(h) xi
    v' = v + dt * F v + sqrt(dt) * (dg . v) xi,        paper's noise:  v' = v + (dt + s sqrt(dt) xi) * (F v).

The last term, the *kick*, is linear in xi with a coefficient known before xi is drawn: its mean is exactly zero, which
makes it a control variate. For the released cell, h' = h + dt (1 - m + m U) f + sigma xi, the kick is
dt m (U - 1/2) F v. Explicit formulas serve the library's own drifts and diffusions; anything else goes by forward-mode
differentiation of the step itself.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from noisyrnn.sde import SDE, Coupling, DriftNoise, Scheme, StateNoise, TanhDrift, euler_maruyama
from noisyrnn.sde.drift_factor import UniformFactor


class TangentStep(NamedTuple):
    """State and tangents after a step, and the kick: the part of the tangents' change that is linear in the noise."""

    h: Tensor
    V: Tensor
    kick: Tensor | None


def tangent_step(
    sde: SDE, scheme: Scheme, h: Tensor, V: Tensor, u: Tensor, dt: Tensor, xi: Tensor | None, uniforms: Tensor | None
) -> TangentStep:
    """(h', V', kick) of one step of a scheme.

    Parameters
    ----------
    sde, scheme
        The system and how it is stepped.
    h, V
        States (n, units) and tangents (n, k, units).
    u
        Drives (n, drive).
    dt
        Step size, a number or one per unit.
    xi, uniforms
        Noise (n, noises) and uniform numbers (n, units), None where the system or the scheme needs none.

    Returns
    -------
    TangentStep

    Examples
    --------
    >>> sde = SDE(TanhDrift(A=torch.eye(1), W=torch.zeros(1, 1), U=torch.ones(1, 1), b=torch.zeros(1)))
    >>> h, V = torch.ones(1, 1), torch.ones(1, 1, 1)
    >>> tangent_step(sde, euler_maruyama, h, V, torch.zeros(1, 1), torch.tensor(0.5), None, None).V
    tensor([[[1.5000]]])
    """
    f, FV = _drift(sde, h, V, u)
    noise = None if xi is None else _noise(sde, h, f, V, FV, xi)
    if scheme is euler_maruyama:
        kick = None if noise is None else dt.sqrt() * noise
        state = h + dt * f if xi is None else h + dt * f + dt.sqrt() * sde.diffusion(h, f, xi)
        return TangentStep(state, V + dt * FV if kick is None else V + dt * FV + kick, kick)
    if isinstance(scheme.drift_factor, UniformFactor) and not scheme.rooted:
        factor = scheme.drift_factor(h, f, dt, uniforms)
        state = h + dt * factor * f if xi is None else h + dt * factor * f + sde.diffusion(h, f, xi)
        mean = 1 - scheme.drift_factor.multiplicative / 2
        kick = None if uniforms is None else (dt * (factor - mean)).unsqueeze(-2) * FV
        return TangentStep(state, V + (dt * factor).unsqueeze(-2) * FV, kick)
    kick = None if noise is None else (dt.sqrt() if scheme.rooted else 1.0) * noise
    return TangentStep(*_along(sde, scheme, h, V, u, dt, xi, uniforms), kick)


def _drift(sde: SDE, h: Tensor, V: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    drift = sde.drift
    if isinstance(drift, TanhDrift):
        z = drift.preactivation(h, u)
        FV = drift.activation.slope(z).unsqueeze(-2) * (V @ drift.W.mT)
        return drift.linear(h) + drift.activation(z), FV if drift.A is None else FV + V @ drift.A.mT
    wide, drive = _wide(h, V), _wide(u, V)
    dual = torch.func.jvp(lambda state: drift(state, drive), (wide,), (V,))
    return dual[0][..., 0, :], dual[1]


def _noise(sde: SDE, h: Tensor, f: Tensor, V: Tensor, FV: Tensor, xi: Tensor) -> Tensor | None:
    """d/dh [g(h, f(h)) xi] along each tangent, or None where it vanishes."""
    diffusion = sde.diffusion
    if diffusion.coupling in Coupling.SILENT | Coupling.ADDITIVE:
        return None
    if isinstance(diffusion, DriftNoise):
        return (diffusion.epsilon * diffusion.multiplicative * xi).unsqueeze(-2) * FV
    if isinstance(diffusion, StateNoise):
        return (diffusion.sigma * xi).unsqueeze(-2) * V
    wide = _wide(xi, V)
    states = (_wide(h, V), _wide(f, V))
    return torch.func.jvp(lambda state, drift: diffusion(state, drift, wide), states, (V, FV))[1]


def _along(
    sde: SDE, scheme: Scheme, h: Tensor, V: Tensor, u: Tensor, dt: Tensor, xi: Tensor | None, uniforms: Tensor | None
) -> tuple[Tensor, Tensor]:
    drive, noise = _wide(u, V), None if xi is None else _wide(xi, V)
    drawn = None if uniforms is None else _wide(uniforms, V)
    dual = torch.func.jvp(lambda state: scheme(sde, state, drive, dt, noise, drawn), (_wide(h, V),), (V,))
    return dual[0][..., 0, :], dual[1]


def _wide(vector: Tensor, V: Tensor) -> Tensor:
    """The same vector beside each tangent; a copy, because forward mode refuses memory that is shared."""
    return vector.unsqueeze(-2).expand(*V.shape[:-1], vector.shape[-1]).contiguous()
