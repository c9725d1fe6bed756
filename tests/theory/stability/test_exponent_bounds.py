"""Theorem 3: the corrected intervals hold on exactly solvable systems, the printed ones do not."""

import warnings

import numpy as np
import pytest
import torch

from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    Calculus,
    CommonNoise,
    Coupling,
    Diffusion,
    DriftNoise,
    StateNoise,
    TanhDrift,
    activation,
)
from noisyrnn.theory.known.demonstrations import antisymmetric_drift, chaotic_drift, provable_drift
from noisyrnn.theory.known.oracles import bessel_exponent, gbm_exponent, gbm_moment_exponent, planar_exponent
from noisyrnn.theory.stability.exponent_bounds import (
    PrintedBoundWarning,
    exponent_interval,
    exponent_interval_as_printed,
    moment_interval,
)
from noisyrnn.theory.stability.exponent_estimates import lyapunov_spectrum
from noisyrnn.theory.stability.linear_systems import linear_system, moment_exponent


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def linear(A):
    A = torch.as_tensor(A, dtype=torch.float64)
    return TanhDrift(A, torch.zeros_like(A), torch.zeros_like(A[:, :1]), torch.zeros_like(A[0]))


def reference_drift():
    i = torch.arange(1, 5, dtype=torch.float64)
    A = 0.3 * torch.sin(i[:, None] + 2 * i) - 0.5 * torch.eye(4, dtype=torch.float64)
    return TanhDrift(A, 0.8 * torch.cos(2 * i[:, None] - i), torch.zeros_like(A[:, :2]), 0.1 * torch.cos(i))


class Softened(Diffusion):
    """g = s diag(tanh h): slopes between 0 and s."""

    coupling, diagonal = Coupling.DIAGONAL, True

    def __init__(self, s):
        super().__init__()
        self.s = s

    def forward(self, h, f, xi):
        return self.s * torch.tanh(h) * xi

    def lipschitz(self, drift):
        return self.s


def test_pinned_intervals():
    found = exponent_interval(SDE(reference_drift(), DriftNoise(0.4, 0.5)))
    assert (found.lo, found.hi) == pytest.approx((-2.63746703015738, 0.9381992698908866), abs=1e-12)
    quiet = exponent_interval(SDE(provable_drift()))
    assert (quiet.lo, quiet.hi) == pytest.approx((-0.04060561, 0.53207212), abs=1e-8)
    noisy = exponent_interval(SDE(provable_drift(), CommonNoise(number(1.6))))
    assert (noisy.lo, noisy.hi) == pytest.approx((-1.32060561, -0.74792788), abs=1e-8)
    assert noisy.stable
    assert not quiet.stable


def test_exact_values_lie_in_their_intervals():
    gbm = SDE(linear([[0.5]]), CommonNoise(number(1.5)))
    assert exponent_interval(gbm).lo == pytest.approx(gbm_exponent(0.5, 1.5))
    assert exponent_interval(gbm).hi == pytest.approx(gbm_exponent(0.5, 1.5))
    for p in (0.5, 1.0, 2.0, 3.0):
        assert moment_interval(gbm, p).hi == pytest.approx(gbm_moment_exponent(0.5, 1.5, p=p))
    coupled = SDE(linear([[-2.0, 2.0], [2.0, -2.0]]), StateNoise(number(1.0)))
    assert bessel_exponent(2.0, 1.0) in exponent_interval(coupled)
    assert 0.8213694423115 in exponent_interval(SDE(antisymmetric_drift(), DriftNoise(multiplicative=1.0)))


def test_one_unit_with_the_paper_s_noise():
    for alpha, s in ((3.0, 1.0), (0.5, 0.4), (-1.0, 0.7)):
        sde = SDE(linear([[alpha]]), DriftNoise(multiplicative=number(s)))
        found, exact = exponent_interval(sde), gbm_exponent(alpha, s * abs(alpha))
        assert (found.lo, found.hi) == pytest.approx((exact, exact))
        second = moment_interval(sde, 2.0)
        assert second.hi == pytest.approx(gbm_moment_exponent(alpha, s * abs(alpha), p=2.0))


@pytest.mark.parametrize("kind", [DriftNoise, StateNoise, CommonNoise])
def test_random_planar_systems_never_leave_the_interval(kind):
    """100 exactly solved systems a kind, almost sure and second moment, no tolerance but rounding."""
    rng, solved, broken = np.random.default_rng(1), 0, 0
    while solved < 100:
        A, s = rng.normal(size=(2, 2)), rng.uniform(0.2, 1.2)
        noise = DriftNoise(multiplicative=number(s)) if kind is DriftNoise else kind(number(s))
        sde = SDE(linear(A), noise)
        system = linear_system(sde)
        if kind is CommonNoise:  # the matrices commute
            truth = np.linalg.eigvals(A).real.max() - s**2 / 2
        else:
            try:
                truth = planar_exponent(A, system.B.numpy(), modes=60, tolerance=1e-6)
            except ValueError:
                continue
        solved += 1
        found = exponent_interval(sde)
        assert found.lo - 1e-6 <= truth <= found.hi + 1e-6
        second = moment_interval(sde, 2.0)
        assert second.lo - 1e-9 <= moment_exponent(system, 2) <= second.hi + 1e-9
        with warnings.catch_warnings(action="ignore"):
            broken += truth > exponent_interval_as_printed(sde).hi + 1e-6
    if kind is StateNoise:
        assert broken > 0
    if kind is CommonNoise:
        assert broken == 0


def test_random_networks_never_leave_the_interval():
    """200 networks of 2 to 5 units, four kinds of noise and three activations, at five standard errors."""
    generator = torch.Generator().manual_seed(3)
    for trial in range(200):
        units = 2 + trial % 4
        A, W = torch.randn(2, units, units, generator=generator, dtype=torch.float64) * 0.7
        b = torch.randn(units, generator=generator, dtype=torch.float64)
        drift = TanhDrift(A - torch.eye(units), W, W[:, :1], b, activation(("tanh", "sin", "relu")[trial % 3]))
        s = 0.2 + 0.6 * float(torch.rand((), generator=generator))
        noise = (DriftNoise(0.3, s), StateNoise(s), CommonNoise(s), AdditiveNoise(s))[trial // 50]
        sde = SDE(drift, noise)
        found = lyapunov_spectrum(sde, dt=0.02, steps=150, warmup=50, samples=32, count=1)
        interval, room = exponent_interval(sde), 5 * found.error
        assert interval.lo - room <= found.top <= interval.hi + room


def test_own_diagonal_noise():
    sde = SDE(chaotic_drift(), Softened(0.8))
    found, quiet = exponent_interval(sde), exponent_interval(sde.quiet())
    assert found.lo == pytest.approx(quiet.lo - 0.32)
    assert found.hi == pytest.approx(quiet.hi + 0.64 * (1 / 2 - 1 / 6))
    one = SDE(linear([[-0.3]]), Softened(0.8))
    assert exponent_interval(one).hi == pytest.approx(-0.3)
    estimate = lyapunov_spectrum(sde, dt=0.02, steps=100, samples=32, count=1)
    assert estimate.top in found


def test_strengths_that_differ_between_units():
    """The interval with unequal strengths holds the exact exponent, and is that of equal ones where they are equal."""
    A = np.array([[-1.0, 1.2], [0.6, -0.5]])
    for noise in (StateNoise, CommonNoise, lambda s: DriftNoise(multiplicative=s)):
        sde = SDE(linear(A), noise(torch.tensor([0.3, 0.9], dtype=torch.float64)))
        system = linear_system(sde)
        assert planar_exponent(A, system.B.numpy(), modes=200, tolerance=1e-6) in exponent_interval(sde)
        assert moment_exponent(system, 2) in moment_interval(sde, 2.0)
        same = exponent_interval(SDE(linear(A), noise(torch.full((2,), 0.9, dtype=torch.float64))))
        alike = exponent_interval(SDE(linear(A), noise(number(0.9))))
        assert (same.lo, same.hi) == pytest.approx((alike.lo, alike.hi))


def test_printed_upper_bound_is_violated_in_the_paper_s_own_class():
    sde = SDE(antisymmetric_drift(), DriftNoise(multiplicative=1.0))
    with pytest.warns(PrintedBoundWarning, match="upper bound"):
        printed = exponent_interval_as_printed(sde)
    assert printed.hi == pytest.approx(-2.105)
    assert printed.hi < 0.8213694423115


def test_printed_lower_bound_is_violated_by_a_monotone_activation():
    one = torch.ones(1, 1, dtype=torch.float64)
    sde = SDE(TanhDrift(None, -0.7 * one, 0 * one, 0 * one[0], activation("identity")))
    with pytest.warns(PrintedBoundWarning, match="lower bound"):
        printed = exponent_interval_as_printed(sde)
    assert printed.lo == 0
    assert exponent_interval(sde).lo == pytest.approx(-0.7)


def test_printed_bound_is_silent_where_it_is_right():
    sde = SDE(linear([[0.5]]), CommonNoise(number(1.5)))
    with warnings.catch_warnings(action="error"):
        printed = exponent_interval_as_printed(sde)
    assert (printed.lo, printed.hi) == pytest.approx((-0.625, -0.625))


def test_wrong_use():
    with pytest.raises(ValueError, match="Stratonovich"):
        exponent_interval(SDE(linear([[0.5]]), CommonNoise(1.0), calculus=Calculus.STRATONOVICH))
    with pytest.raises(ValueError, match="p > 0"):
        moment_interval(SDE(linear([[0.5]])), 0.0)
