"""Extremes over the box of slopes: pinned numbers, soundness against random slopes, vertices against centre-radius."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noisyrnn.sde import GatedDrift, TanhDrift, activation
from noisyrnn.theory.stability.secant_bounds import Interval, Secants


def reference_drift():
    i = torch.arange(1, 5, dtype=torch.float64)
    j = torch.arange(1, 3, dtype=torch.float64)
    A = 0.3 * torch.sin(i[:, None] + 2 * i) - 0.5 * torch.eye(4, dtype=torch.float64)
    return TanhDrift(A, 0.8 * torch.cos(2 * i[:, None] - i), 0.7 * torch.sin(i[:, None] * j + 1), 0.1 * torch.cos(i))


def test_reference_network():
    exact = Secants.of(reference_drift()).bounds()
    assert exact.exact
    assert (exact.mu.lo, exact.mu.hi) == pytest.approx((-2.2854836540884818, 0.2502490847450425), abs=1e-12)
    assert (exact.norm, exact.row) == pytest.approx((2.3459755926195722, 1.678054530863401), abs=1e-12)
    loose = Secants.of(reference_drift()).bounds(vertices=1)
    assert not loose.exact
    assert (loose.mu.lo, loose.mu.hi) == pytest.approx((-2.427845103536653, 0.7889997268061476), abs=1e-12)
    assert loose.norm == pytest.approx(2.4565671651750245, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from(["tanh", "sin", "gelu", "sigmoid", "leaky-relu"]))
def test_no_slopes_leave_the_bounds(seed, units, name):
    generator = torch.Generator().manual_seed(seed)
    A, W = torch.randn(2, units, units, generator=generator, dtype=torch.float64)
    drift = TanhDrift(A, W, W[:, :1], W[0], activation(name))
    secants = Secants.of(drift)
    scale = torch.rand(units, generator=generator, dtype=torch.float64)
    exact, loose = secants.bounds(scale=scale), secants.bounds(scale=scale, vertices=1)
    D = secants.low + (secants.high - secants.low) * torch.rand(200, units, 1, generator=generator, dtype=torch.float64)
    F = A + D * W
    rates = torch.linalg.eigvalsh((F + F.mT) / 2)
    values = torch.linalg.svdvals(scale[:, None] * F)
    for found in (exact, loose):
        assert found.mu.lo - 1e-9 <= float(rates.min())
        assert float(rates.max()) <= found.mu.hi + 1e-9
        assert float(values.max()) <= found.norm + 1e-9
        assert float(values.min()) >= found.least - 1e-9
        assert float((scale[:, None] * F).norm(dim=2).max()) <= found.row + 1e-9
    assert loose.mu.lo <= exact.mu.lo + 1e-9
    assert exact.mu.hi <= loose.mu.hi + 1e-9


def test_tangents_of_a_network_lie_in_its_bounds():
    drift = reference_drift()
    h, x = torch.randn(2, 300, 4, dtype=torch.float64).unbind(0)
    J = drift.jacobian(h, drift.encode(x[:, :2]))
    found = Secants.of(drift).bounds().mu
    rates = torch.linalg.eigvalsh((J + J.mT) / 2)
    assert found.lo <= float(rates.min())
    assert float(rates.max()) <= found.hi


def test_another_drift_is_refused():
    one = torch.ones(1, 1)
    with pytest.raises(ValueError, match="GatedDrift"):
        Secants.of(GatedDrift(one, one, one[0], one, one[0]))


def test_intervals():
    assert Interval(-1.0, 2.0).times(-2.0) == Interval(-4.0, 2.0)
    assert Interval(-2.0, -1.0).stable
    assert Interval(0.5, 1.0).unstable
    assert 3.0 not in Interval(0.0, 1.0)
