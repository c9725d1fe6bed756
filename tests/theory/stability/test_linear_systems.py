"""Exact exponents of linear systems."""

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from noisyrnn.sde import SDE, CommonNoise, DriftNoise, StateNoise, TanhDrift
from noisyrnn.theory.known.oracles import gbm_moment_exponent, gbm_step_moment_exponent
from noisyrnn.theory.stability.linear_systems import (
    LinearSystem,
    commuting_exponents,
    linear_system,
    moment_exponent,
    step_moment_exponent,
)


def gbm(a, s):
    return LinearSystem(F=torch.tensor([[a]], dtype=torch.float64), B=torch.tensor([[[s]]], dtype=torch.float64))


def test_geometric_brownian_motion():
    for p in (2, 4, 6):
        assert moment_exponent(gbm(0.5, 1.5), p) == pytest.approx(gbm_moment_exponent(0.5, 1.5, p=float(p)))
    assert step_moment_exponent(gbm(0.5, 1.5), dt=0.01) == pytest.approx(gbm_step_moment_exponent(0.5, 1.5, dt=0.01))


def test_second_moment_of_coupled_units_is_the_kronecker_eigenvalue():
    rng = np.random.default_rng(0)
    F, B = rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 3))
    system = LinearSystem(F=torch.from_numpy(F), B=torch.from_numpy(B))
    kronecker = np.kron(F, np.eye(3)) + np.kron(np.eye(3), F) + sum(np.kron(b, b) for b in B)
    assert moment_exponent(system, 2) == pytest.approx(np.linalg.eigvals(kronecker).real.max())
    covariance = (expm(20 * kronecker) @ np.eye(3).ravel()).reshape(3, 3)
    later = (expm(21 * kronecker) @ np.eye(3).ravel()).reshape(3, 3)
    assert np.log(np.trace(later) / np.trace(covariance)) == pytest.approx(moment_exponent(system, 2), abs=1e-6)
    assert step_moment_exponent(system, dt=1e-5) == pytest.approx(moment_exponent(system, 2), abs=1e-3)


def test_moment_exponents_are_convex_in_p():
    rng = np.random.default_rng(1)
    system = LinearSystem(F=torch.from_numpy(rng.normal(size=(2, 2))), B=torch.from_numpy(rng.normal(size=(2, 2, 2))))
    second, fourth, sixth = (moment_exponent(system, p) for p in (2, 4, 6))
    assert fourth - second <= sixth - fourth + 1e-9
    assert fourth >= 2 * second - 1e-9  # Lyapunov's inequality: Lambda_p / p does not fall


def test_commuting_matrices():
    F = torch.tensor([[0.2, -1.0], [1.0, 0.2]], dtype=torch.float64)
    rotation = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    stabilised = commuting_exponents(LinearSystem(F=F, B=torch.eye(2, dtype=torch.float64)[None]))
    assert stabilised.tolist() == pytest.approx([-0.3, -0.3])
    destabilised = commuting_exponents(LinearSystem(F=F, B=rotation[None]))
    assert destabilised.tolist() == pytest.approx([0.7, 0.7])
    with pytest.raises(ValueError, match="do not commute"):
        commuting_exponents(LinearSystem(F=F, B=torch.diag(torch.tensor([1.0, 0.0]))[None]))


def test_linearised_networks():
    generator = torch.Generator().manual_seed(0)
    A, W = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    drift = TanhDrift(A, W, A[:, :2], A[0])
    h, x = torch.randn(3, generator=generator, dtype=torch.float64), torch.tensor([0.3, -0.2], dtype=torch.float64)
    J = drift.jacobian(h, drift.encode(x))
    paper = linear_system(SDE(drift, DriftNoise(0.3, 0.5)), h=h, x=x)
    assert torch.allclose(paper.F, J)
    for k in range(3):
        row = torch.zeros_like(J)
        row[k] = 0.5 * J[k]
        assert torch.allclose(paper.B[k], row)
    eye = torch.eye(3, dtype=torch.float64)
    assert torch.allclose(linear_system(SDE(drift, StateNoise(0.5)), h=h).B.sum(0), 0.5 * eye)
    assert torch.allclose(linear_system(SDE(drift, CommonNoise(0.5)), h=h).B[0], 0.5 * eye)
    assert linear_system(SDE(drift), h=h).B.shape == (0, 3, 3)


def test_wrong_use():
    with pytest.raises(ValueError, match="even order"):
        moment_exponent(gbm(0.1, 0.1), 3)
    with pytest.raises(ValueError, match="moment_interval"):
        moment_exponent(LinearSystem(F=torch.eye(65), B=torch.eye(65)[None]), 2)
    with pytest.raises(ValueError, match="noises, d, d"):
        LinearSystem(F=torch.eye(2), B=torch.eye(2))
