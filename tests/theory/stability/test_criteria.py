"""Stochastic Lyapunov functions, stability in probability, and the Lipschitz RNN's condition."""

import pytest
import torch
from scipy import stats

from noisyrnn.sde import SDE, CommonNoise, DriftNoise, StateNoise, TanhDrift
from noisyrnn.theory.known.demonstrations import antisymmetric_drift, provable_drift
from noisyrnn.theory.stability.criteria import lipschitz_rnn_condition, lyapunov_function, stability_in_probability
from noisyrnn.theory.stability.exponent_bounds import exponent_interval
from noisyrnn.theory.stability.exponent_estimates import lyapunov_spectrum


def square(e):
    return e.square().sum()


def states(units, count=400, seed=0):
    return torch.randn(2, count, units, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).unbind(0)


def linear(A):
    A = torch.as_tensor(A, dtype=torch.float64)
    return TanhDrift(A, torch.zeros_like(A), torch.zeros_like(A[:, :1]), torch.zeros_like(A[0]))


@pytest.mark.parametrize("noise", [CommonNoise(1.6), StateNoise(0.7), DriftNoise(0.2, 0.5)])
def test_the_square_gives_rates_inside_the_proved_interval(noise):
    sde = SDE(provable_drift(), noise)
    h, e = states(6)
    found, proved = lyapunov_function(square, sde, h, e), exponent_interval(sde)
    assert found.size.lo == pytest.approx(1)
    assert found.size.hi == pytest.approx(1)
    assert proved.lo - 1e-6 <= found.joint.lo <= found.joint.hi <= proved.hi + 1e-6
    assert found.exponent.lo <= found.joint.lo + 1e-12
    assert found.joint.hi <= found.exponent.hi + 1e-12


def test_a_well_chosen_function_sees_stability_that_the_square_misses():
    """A non-normal stable matrix: ||e||^2 may grow at first, e^T P e with F^T P + P F = -I never does."""
    F = torch.tensor([[-1.0, 5.0], [0.0, -1.0]], dtype=torch.float64)
    P = torch.tensor([[0.5, 1.25], [1.25, 6.75]], dtype=torch.float64)
    assert torch.allclose(F.mT @ P + P @ F, -torch.eye(2, dtype=torch.float64))
    h, e = states(2)
    sde = SDE(linear(F))
    assert lyapunov_function(square, sde, h, e).joint.hi > 0
    chosen = lyapunov_function(lambda e: e @ P @ e, sde, h, e)
    assert chosen.joint.hi < 0
    assert chosen.exponent.lo <= -1 <= chosen.exponent.hi


def test_power_of_the_norm_gives_the_same_exponent():
    sde = SDE(linear([[0.5]]), CommonNoise(1.5))
    h, e = states(1)
    fourth = lyapunov_function(lambda e: e.square().sum() ** 2, sde, h, e, p=4.0)
    assert (fourth.exponent.lo, fourth.exponent.hi) == pytest.approx((-0.625, -0.625))


def test_inputs_and_wrong_use():
    drift = TanhDrift(-torch.eye(2), torch.eye(2), torch.ones(2, 1), torch.zeros(2))
    h, e = states(2, 5)
    quiet = lyapunov_function(square, SDE(drift), h, e, torch.full((5, 1), 20.0))
    assert quiet.joint.hi == pytest.approx(-1, abs=1e-6)  # saturated: only A is left
    with pytest.raises(ValueError, match="e != 0"):
        lyapunov_function(square, SDE(drift), h, 0 * e)
    with pytest.raises(ValueError, match="positive"):
        lyapunov_function(lambda e: -square(e), SDE(drift), h, e)


def test_probability_of_geometric_brownian_motion():
    """P(sup_t |e_t| < r) = 1 - (e_0/r)^theta, theta = 1 - 2a/s^2, because log|e| is a Brownian motion with drift."""
    a, s, start, radius = 0.1, 1.0, 0.2, 1.0
    found = stability_in_probability(
        SDE(linear([[a]]), CommonNoise(s)),
        start=start,
        radius=radius,
        dt=0.01,
        steps=1200,
        samples=400,
        confidence=0.99,
    )
    exact = 1 - (start / radius) ** (1 - 2 * a / s**2)
    # Steps miss excursions between them, so the count is a little high.
    assert found.interval.lo - 0.03 <= exact <= found.interval.hi
    assert found.samples == 400


def test_confidence_interval_is_exact():
    drift = linear([[-1.0]])
    sure = stability_in_probability(SDE(drift), start=0.1, radius=0.2, dt=0.1, steps=5, samples=50)
    assert sure.value == 1
    assert sure.interval.hi == 1
    assert sure.interval.lo == pytest.approx(0.025 ** (1 / 50))
    never = stability_in_probability(SDE(linear([[3.0]])), start=0.1, radius=0.2, dt=0.1, steps=50, samples=50)
    assert never.value == 0
    assert never.interval.hi == pytest.approx(1 - 0.025 ** (1 / 50))
    some = stability_in_probability(
        SDE(linear([[0.0]]), StateNoise(1.0)), start=0.1, radius=0.2, dt=0.1, steps=20, samples=50
    )
    exact = stats.binomtest(round(some.value * 50), 50).proportion_ci(0.95, "exact")
    assert (some.interval.lo, some.interval.hi) == pytest.approx((exact.low, exact.high))
    with pytest.raises(ValueError, match="start < radius"):
        stability_in_probability(SDE(drift), start=0.3, radius=0.2, dt=0.1, steps=5)
    with pytest.raises(ValueError, match="give steps"):
        stability_in_probability(SDE(drift), start=0.1, radius=0.2, dt=0.1)


def test_the_lipschitz_rnn_s_condition():
    W = torch.tensor([[0.0, 0.6], [-0.3, 0.2]], dtype=torch.float64)
    stable = TanhDrift(-torch.eye(2, dtype=torch.float64), W, W[:, :1], W[0])
    found = lipschitz_rnn_condition(stable)
    assert found.holds
    assert exponent_interval(SDE(stable)).hi <= found.rate + 1e-12
    assert lyapunov_spectrum(SDE(stable), dt=0.01, steps=300).top <= found.rate + 0.01
    assert lipschitz_rnn_condition(antisymmetric_drift()).rate == pytest.approx(-0.1)
    assert not lipschitz_rnn_condition(provable_drift()).holds
