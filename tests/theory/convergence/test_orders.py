"""Orders of convergence, measured on systems with known answers."""

import math

import pytest
import torch

from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    Drift,
    DriftNoise,
    LinearTaming,
    StateNoise,
    TanhDrift,
    adaptive,
    draw,
    euler_maruyama,
    milstein,
    tamed,
    tamed_as_printed,
)
from noisyrnn.sde.brownian import Key
from noisyrnn.theory.convergence.orders import end_state, strong_order, weak_order
from noisyrnn.theory.known.oracles import gbm_strong_error, gbm_weak_error

ONE = torch.ones(1, 1, dtype=torch.float64)
LINE = TanhDrift(-0.5 * ONE, 0 * ONE, 0 * ONE, 0 * ONE[0])
GBM = SDE(LINE, StateNoise(torch.tensor(0.8, dtype=torch.float64)))
OU = SDE(LINE, AdditiveNoise(torch.tensor(0.8, dtype=torch.float64)))
START = torch.ones(1, dtype=torch.float64)


def gbm_solution(times, brownian):
    return torch.exp((-0.5 - 0.32) * times[-1] + 0.8 * brownian[-1])


def ou_solution(times, brownian):
    middles = (times[1:] + times[:-1]) / 2
    weights = torch.exp(-0.5 * (times[-1] - middles))
    return math.exp(-0.5) + 0.8 * (weights[:, None, None] * brownian.diff(dim=0)).sum(0)


class Cubic(Drift):
    """f = h - h^3."""

    def forward(self, h, u):
        return h - h**3


class Pushed(Drift):
    """f = x_t, nothing else."""

    def forward(self, h, u):
        return u


def test_euler_maruyama_on_geometric_brownian_motion():
    found = strong_order(GBM, h0=START, exact=gbm_solution, refinement=1, paths=2000)
    assert found.order == pytest.approx(0.5, abs=0.1)
    assert found.expected == 0.5
    for steps, error, bar in zip((16, 32, 64, 128, 256), found.errors, found.error_bars, strict=True):
        assert abs(error - gbm_strong_error(-0.5, 0.8, horizon=1.0, steps=steps)) < 4 * bar


def test_milstein_on_geometric_brownian_motion():
    steps = (8, 16, 32, 64)
    found = strong_order(GBM, milstein, h0=START, exact=gbm_solution, refinement=1, paths=1000, steps=steps)
    assert found.order == pytest.approx(1.0, abs=0.1)
    assert found.expected == 1.0
    for count, error, bar in zip(steps, found.errors, found.error_bars, strict=True):
        exact = gbm_strong_error(-0.5, 0.8, horizon=1.0, steps=count, milstein=True)
        assert abs(error - exact) < 4 * bar + 0.2 * exact  # heavy tails: rare paths carry the mean square


def test_euler_maruyama_on_additive_noise():
    assert strong_order(OU, h0=START, paths=100, steps=(8, 16, 32), refinement=32).order == pytest.approx(1.0, abs=0.1)
    measured = strong_order(OU, h0=START, exact=ou_solution, paths=200, steps=(16, 32, 64))
    assert measured.order == pytest.approx(1.0, abs=0.1)
    assert measured.expected == 1.0


def test_a_driven_network_with_the_paper_s_noise():
    """Two units, a signal that is refined with the steps; the reference is the scheme itself on a finer path."""
    A, W = torch.tensor([[[-1.0, 0.7], [-0.3, -0.5]], [[0.9, -1.2], [1.1, 0.4]]], dtype=torch.float64)
    drift = TanhDrift(A, W, torch.ones(2, 1, dtype=torch.float64), A[0])
    mixed = SDE(drift, DriftNoise(0.5, 1.0))
    found = strong_order(mixed, h0=A[0], x=lambda t: torch.sin(5 * t)[:, None], paths=200, steps=(16, 32, 64))
    assert found.order == pytest.approx(0.5, abs=0.2)
    additive, held = (
        strong_order(SDE(drift, AdditiveNoise(0.5)), h0=A[0], x=x, paths=50, steps=(16, 32, 64))
        for x in (lambda t: torch.sin(5 * t)[:, None], torch.tensor([[1.0], [-1.0]], dtype=torch.float64))
    )
    assert additive.order == pytest.approx(1.0, abs=0.12)
    assert held.order == pytest.approx(1.0, abs=0.12)


def test_a_signal_that_is_only_bounded_spoils_the_order():
    """x_t = sum_k 2^(-0.2 k) cos(2 pi 2^k t) is 0.2-Hoelder: the error is 2^(-0.2 L)/(1 - 2^(-0.2)) exactly."""
    modes = torch.arange(400, dtype=torch.float64)

    def rough(t):
        turns = torch.stack([torch.remainder(t * 2.0 ** float(min(k, 60)), 1) for k in modes])
        return (2 ** (-0.2 * modes) @ torch.cos(2 * math.pi * turns))[:, None]

    found = strong_order(
        SDE(Pushed(1)), h0=torch.zeros(1), x=rough, exact=lambda t, B: torch.zeros(1, 1, dtype=torch.float64),
        refinement=1, paths=2, steps=(16, 32, 64, 128),
    )  # fmt: skip
    exact = [2 ** (-0.2 * level) / (1 - 2**-0.2) for level in (4, 5, 6, 7)]
    assert found.errors == pytest.approx(exact, rel=1e-9)
    assert found.order == pytest.approx(0.2, abs=1e-9)


def test_tamed_as_printed_stalls_while_tamed_converges():
    steps = (16, 32, 64)
    printed = strong_order(OU, tamed_as_printed(0.5, 1.0), h0=START, exact=ou_solution, paths=1000, steps=steps)
    assert printed.order == pytest.approx(0, abs=0.02)
    assert printed.errors[-1] == pytest.approx(0.146, abs=4 * printed.error_bars[-1])
    assert printed.expected is None
    for scheme in (tamed, adaptive(LinearTaming(0.5, 1.0))):
        right = strong_order(OU, scheme, h0=START, exact=ou_solution, paths=400, steps=steps)
        assert right.order == pytest.approx(1.0, abs=0.12)
        assert right.errors[-1] < printed.errors[-1] / 20


def test_euler_maruyama_leaves_the_finite_numbers_where_tamed_does_not():
    sde = SDE(Cubic(1), StateNoise(1.0)).double()
    xi = draw(Key(value=0), 100, 32, 1, dtype=torch.float64)
    start, u = torch.full((100, 1), 10.0, dtype=torch.float64), torch.zeros(32, 1, dtype=torch.float64)
    dt = torch.tensor(1 / 32, dtype=torch.float64)
    assert not torch.isfinite(end_state(sde, euler_maruyama, start, u, dt, xi)).any()
    assert torch.isfinite(end_state(sde, tamed, start, u, dt, xi)).all()
    with pytest.raises(ValueError, match="finite numbers"):
        strong_order(sde, h0=10 * START, steps=(16, 32), paths=10)


def test_weak_order():
    gentle = SDE(LINE, StateNoise(torch.tensor(0.3, dtype=torch.float64)))
    found = weak_order(
        gentle, lambda h: h, h0=START, paths=4000, refinement=1, steps=(2, 4, 8, 16),
        exact=lambda t, B: torch.exp((-0.5 - 0.045) * t[-1] + 0.3 * B[-1]),
    )  # fmt: skip
    assert abs(found.order - 1) < 0.15 + 3 * found.standard_error
    for steps, error, bar in zip((2, 4, 8, 16), found.errors, found.error_bars, strict=True):
        assert abs(error - gbm_weak_error(-0.5, horizon=1.0, steps=steps)) < 4 * bar
    square = weak_order(OU, lambda h: h.square(), h0=START, paths=400)
    assert abs(square.order - 1) < 0.2 + 3 * square.standard_error


def test_standard_error_is_that_of_repetition():
    keys = [Key(value=v) for v in range(10)]
    orders = [strong_order(OU, h0=START, paths=50, steps=(8, 16, 32), refinement=4, key=key) for key in keys]
    spread = torch.tensor([found.order for found in orders]).std()
    stated = torch.tensor([found.standard_error for found in orders]).mean()
    assert 0.4 < float(stated / spread) < 2.5


def test_wrong_use():
    with pytest.raises(ValueError, match="two or more"):
        strong_order(OU, h0=START, steps=(4,))
    with pytest.raises(ValueError, match="multiples"):
        strong_order(OU, h0=START, steps=(4, 8), x=torch.zeros(3, 1))
    with pytest.raises(ValueError, match="milstein is not right"):
        strong_order(SDE(LINE, DriftNoise(0.1, 0.1)), milstein, h0=START)
