"""Sample exponents: exact values within three standard errors, full spectra, data, per-unit steps, released noise."""

import numpy as np
import pytest
import torch

from noisyrnn.sde import SDE, AdditiveNoise, CommonNoise, DriftNoise, Key, StateNoise, TanhDrift, milstein, released
from noisyrnn.theory.known.demonstrations import antisymmetric_drift, chaotic_drift
from noisyrnn.theory.known.oracles import bessel_exponent, gbm_step_exponent, line_exponent
from noisyrnn.theory.stability.exponent_bounds import exponent_interval
from noisyrnn.theory.stability.exponent_estimates import extrapolated_spectrum, lyapunov_spectrum


def linear(A):
    A = torch.as_tensor(A, dtype=torch.float64)
    return TanhDrift(A, torch.zeros_like(A), torch.zeros_like(A[:, :1]), torch.zeros_like(A[0]))


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def test_geometric_brownian_motion_and_the_control_variate():
    sde = SDE(linear([[0.5]]), CommonNoise(number(1.5)))
    exact = gbm_step_exponent(0.5, 1.5, dt=0.01)
    plain, controlled = (
        lyapunov_spectrum(sde, dt=0.01, steps=400, samples=64, h0=torch.zeros(1), control=control)
        for control in (False, True)
    )
    for found in (plain, controlled):
        assert abs(found.top - exact) < 3 * found.error
    assert controlled.error < plain.error / 4
    free = extrapolated_spectrum(sde, dt=0.01, steps=400, samples=64, h0=torch.zeros(1))
    assert abs(free.top + 0.625) < 3 * free.error


def test_two_units_with_noise_of_their_own():
    sde = SDE(linear([[-2.0, 2.0], [2.0, -2.0]]), StateNoise(number(1.0)))
    found = lyapunov_spectrum(sde, dt=0.004, steps=2000, warmup=250, samples=128, h0=torch.zeros(2), count=1)
    assert abs(found.top - bessel_exponent(2.0, 1.0)) < 3 * found.error
    assert found.error < 0.01
    assert found.top in exponent_interval(sde)


def test_the_paper_s_noise_on_an_antisymmetric_network():
    sde = SDE(antisymmetric_drift(), DriftNoise(multiplicative=1.0))
    found = extrapolated_spectrum(sde, dt=0.005, steps=2000, warmup=400, samples=128, h0=torch.zeros(2), count=1)
    assert abs(found.top - 0.8213694423115) < 3 * found.error
    assert found.error < 0.03
    assert found.top in exponent_interval(sde)


@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
def test_additive_noise(s):
    one = torch.ones(1, 1, dtype=torch.float64)
    sde = SDE(TanhDrift(-0.5 * one, one, 0 * one, 0 * one[0]), AdditiveNoise(number(s)))
    found = lyapunov_spectrum(sde, dt=0.02, steps=600, warmup=300, samples=128)
    exact = line_exponent(lambda h: -h / 2 + np.tanh(h), lambda h: 0.5 - np.tanh(h) ** 2, s)
    assert abs(found.top - exact) < 3 * found.error + 0.01
    assert found.error < 0.02


def test_full_spectrum_of_a_linear_system_and_of_a_chaotic_one():
    A = torch.tensor([[0.3, 1.0, 0.0], [-1.0, 0.3, 0.0], [0.5, 0.0, -0.7]], dtype=torch.float64)
    found = lyapunov_spectrum(SDE(linear(A)), dt=0.01, steps=2000, warmup=500, h0=torch.zeros(3))
    exact = torch.linalg.eigvals(torch.eye(3, dtype=torch.float64) + 0.01 * A).abs().log().sort(descending=True)[0]
    assert torch.allclose(found.values, exact / 0.01, atol=5e-3)
    chaotic = lyapunov_spectrum(SDE(chaotic_drift()), dt=0.01, steps=4000, warmup=1000, samples=16, every=5)
    assert torch.all((chaotic.values[:3] - torch.tensor([0.161, 0.003, -0.488])).abs() < 4 * chaotic.errors[:3])
    assert 2 < chaotic.dimension < 3


def test_noise_quenches_chaos():
    common = lyapunov_spectrum(SDE(chaotic_drift(), CommonNoise(1.0)), dt=0.01, steps=1500, samples=32, count=1)
    assert common.top + 3 * common.error < 0


def test_sum_of_the_spectrum_is_the_mean_log_determinant():
    """With the same path, sum_i log|R_ii| = log|det J|, step by step: linear, so the paths need not be kept."""
    A = torch.tensor([[-0.4, 1.0], [-1.5, 0.2]], dtype=torch.float64)
    found = lyapunov_spectrum(SDE(linear(A)), dt=0.05, steps=100, h0=torch.zeros(2))
    determinant = torch.linalg.det(torch.eye(2, dtype=torch.float64) + 0.05 * A).log() / 0.05
    assert float(found.values.sum()) == pytest.approx(float(determinant), abs=1e-12)


def test_data_steps_by_unit_and_released_noise():
    generator = torch.Generator().manual_seed(1)
    A, W = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    drift = TanhDrift(A, W, torch.randn(3, 2, generator=generator, dtype=torch.float64), A[0])
    x = torch.randn(4, 30, 2, generator=generator, dtype=torch.float64)
    d = torch.tensor([0.1, 0.2, 0.05], dtype=torch.float64)
    found = lyapunov_spectrum(SDE(drift), x, dt=d)
    assert found.dt is None
    for sample, exponents in zip(x, found.by_sample, strict=True):
        h, P = torch.zeros(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)
        for drive in drift.encode(sample):
            P = (torch.eye(3, dtype=torch.float64) + d[:, None] * drift.jacobian(h, drive)) @ P
            h = h + d * drift(h, drive)
        assert float(exponents.sum()) * 30 == pytest.approx(float(torch.linalg.det(P).abs().log()), abs=1e-9)
    twice = lyapunov_spectrum(SDE(drift), torch.cat((x, x), 1), dt=d)
    repeated = lyapunov_spectrum(SDE(drift), x, dt=d, steps=60)
    assert torch.equal(twice.values, repeated.values)
    # Free steps may be negative in the released cell; m = 0 is the plain network.
    plain = lyapunov_spectrum(SDE(drift, AdditiveNoise(1e-9)), x, dt=-d, scheme=released(0.0))
    assert torch.allclose(plain.values, lyapunov_spectrum(SDE(drift), x, dt=-d).values, atol=1e-6)
    shaken = lyapunov_spectrum(SDE(drift, AdditiveNoise(0.05)), x[:1], dt=d, samples=64, scheme=released(0.1))
    assert abs(shaken.top - found.top) < 0.1


def test_the_mean_rate_of_the_released_cell():
    """h' = h + dt (1 - m + m U) a h: E log|1 + dt a (1 - m + m U)| in closed form."""
    a, dt, m = -0.8, 0.5, 0.6
    low, high = 1 + dt * a, 1 + dt * a * (1 - m)
    exact = ((high * np.log(high) - high) - (low * np.log(low) - low)) / (high - low) / dt
    found = lyapunov_spectrum(SDE(linear([[a]])), dt=dt, steps=500, samples=32, scheme=released(m))
    assert abs(found.top - exact) < 3 * found.error
    assert found.error < 2e-3


def test_paths_depend_on_the_key_alone():
    sde = SDE(chaotic_drift(), StateNoise(0.5))
    run = [lyapunov_spectrum(sde, dt=0.02, steps=40, samples=3, key=Key(value=v)).values for v in (5, 5, 6)]
    assert torch.equal(run[0], run[1])
    assert not torch.equal(run[0], run[2])


def test_wrong_use():
    sde = SDE(chaotic_drift(), DriftNoise(multiplicative=0.5))
    with pytest.raises(ValueError, match="milstein is not right"):
        lyapunov_spectrum(sde, dt=0.01, steps=10, scheme=milstein)
    with pytest.raises(ValueError, match="square root"):
        lyapunov_spectrum(sde, dt=-0.01, steps=10)
    with pytest.raises(ValueError, match="steps"):
        lyapunov_spectrum(sde, dt=0.01)
    with pytest.raises(ValueError, match="count"):
        lyapunov_spectrum(sde, dt=0.01, steps=10, count=7)
    with pytest.raises(ValueError, match="one step per unit"):
        lyapunov_spectrum(sde, dt=torch.ones(5), steps=10)
    with pytest.raises(ValueError, match="finite numbers"):
        lyapunov_spectrum(SDE(linear([[100.0]])), dt=1.0, steps=400)
