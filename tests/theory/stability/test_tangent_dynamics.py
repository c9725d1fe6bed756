"""The derivative of a step: explicit formulas against reverse-mode Jacobians, for every noise and scheme."""

import pytest
import torch

from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    Calculus,
    CommonNoise,
    DriftNoise,
    Dropout,
    GatedDrift,
    StateNoise,
    TanhDrift,
    adaptive,
    euler_maruyama,
    heun,
    milstein,
    released,
    tamed,
)
from noisyrnn.theory.stability.tangent_dynamics import tangent_step

generator = torch.Generator().manual_seed(0)
A, W = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
U, b = torch.randn(3, 2, generator=generator, dtype=torch.float64), torch.randn(3, generator=generator).double()
TANH, BARE = TanhDrift(A, W, U, b), TanhDrift(None, W, U, b)
GATED = GatedDrift(W, U, b, U, b)
PER_UNIT = torch.tensor([0.1, 0.2, 0.05], dtype=torch.float64)

CASES = {
    "additive": (SDE(TANH, AdditiveNoise(0.3)), euler_maruyama),
    "paper": (SDE(TANH, DriftNoise(0.1, 0.4)), euler_maruyama),
    "paper, no linear term": (SDE(BARE, DriftNoise(0.1, 0.4)), euler_maruyama),
    "state": (SDE(TANH, StateNoise(0.4)), euler_maruyama),
    "common": (SDE(TANH, CommonNoise(0.4)), euler_maruyama),
    "silent": (SDE(TANH), euler_maruyama),
    "gated": (SDE(GATED, DriftNoise(0.1, 0.4)), euler_maruyama),
    "released": (SDE(TANH, AdditiveNoise(0.3)), released(0.2)),
    "milstein": (SDE(TANH, StateNoise(0.4)), milstein),
    "heun": (SDE(TANH, DriftNoise(0.1, 0.4), calculus=Calculus.STRATONOVICH), heun),
    "tamed": (SDE(TANH, DriftNoise(0.1, 0.4)), tamed),
    "dropout": (SDE(TANH, AdditiveNoise(0.1)), adaptive(Dropout(0.4))),
}


@pytest.mark.parametrize("dt", [torch.tensor(0.1, dtype=torch.float64), PER_UNIT], ids=["common dt", "dt by unit"])
@pytest.mark.parametrize("name", list(CASES))
def test_tangents_are_the_jacobian_s(name, dt):
    sde, scheme = CASES[name]
    sde = sde.double()
    h = torch.randn(1, 3, generator=generator, dtype=torch.float64)
    u = sde.drift.encode(torch.randn(1, 2, generator=generator, dtype=torch.float64))
    xi = torch.randn(1, sde.noises, generator=generator, dtype=torch.float64) if sde.noises else None
    uniforms = torch.rand(1, 3, generator=generator, dtype=torch.float64) if scheme.takes_uniforms else None
    J = torch.autograd.functional.jacobian(lambda state: scheme(sde, state, u, dt, xi, uniforms), h)[0, :, 0]
    state, V, _ = tangent_step(sde, scheme, h, torch.eye(3, dtype=torch.float64)[None], u, dt, xi, uniforms)
    assert torch.allclose(state, scheme(sde, h, u, dt, xi, uniforms), atol=1e-14)
    assert torch.allclose(V[0].mT, J, atol=1e-12)


@pytest.mark.parametrize("name", ["paper", "state", "common", "gated", "released", "milstein"])
def test_kicks_are_odd_in_the_noise(name):
    """A control variate of mean zero: turning the noise over turns the kick over."""
    sde, scheme = CASES[name]
    sde = sde.double()
    h, V = torch.randn(1, 3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)[None]
    u = sde.drift.encode(torch.zeros(1, 2, dtype=torch.float64))
    dt, xi = torch.tensor(0.1, dtype=torch.float64), torch.randn(1, sde.noises, dtype=torch.float64)
    uniforms = torch.rand(1, 3, dtype=torch.float64) if scheme.takes_uniforms else None
    there = tangent_step(sde, scheme, h, V, u, dt, xi, uniforms).kick
    back = tangent_step(sde, scheme, h, V, u, dt, -xi, None if uniforms is None else 1 - uniforms).kick
    assert float(there.abs().max()) > 0
    assert torch.allclose(there, -back, atol=1e-14)
