"""Schemes: measured orders on solvable equations, refusals, taming."""

import copy
import math
import pickle

import pytest
import torch

from noisyrnn.rnn import SDECell
from noisyrnn.rnn.reference import integrate
from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    Calculus,
    CommonNoise,
    Convention,
    Coupling,
    Drift,
    DriftNoise,
    Dropout,
    Key,
    LearnedStep,
    LinearTaming,
    NoiseLaw,
    StateNoise,
    StateStep,
    StochasticDepth,
    TanhDrift,
    adaptive,
    bounded_increment,
    coarsen,
    draw,
    euler_maruyama,
    heun,
    increment_tamed,
    milstein,
    released,
    scheme,
    tamed,
    tamed_as_printed,
)
from noisyrnn.sde.drift_factor import HutzenthalerJentzenKloeden

PATHS, FINEST = 4000, 256
RATE, SIGMA = -0.5, 0.8  # the geometric Brownian motion of the reference errors


def nothing(times):
    return times.new_zeros(times.shape[0], 1, 1)


def linear(rate: float, units: int = 1) -> TanhDrift:
    zero = torch.zeros(units, units, dtype=torch.float64)
    return TanhDrift(rate * torch.eye(units, dtype=torch.float64), zero, zero[:, :1], zero[:, 0])


def errors(sde, scheme, exact, sizes=(16, 32, 64, 128, 256), units=1, key=1):
    """Root mean square distance at time 1 from the exact end point, on one path seen at several step sizes."""
    xi = draw(Key(value=key), PATHS, FINEST, sde.noises, dtype=torch.float64)
    h0 = torch.ones(PATHS, units, dtype=torch.float64)
    end = exact(xi)
    found = []
    for size in sizes:
        last = integrate(sde, scheme, h0, nothing, duration=1.0, xi=coarsen(xi, FINEST // size))[-1]
        found.append(float((last - end).square().sum(-1).mean().sqrt()))
    return found


def order(found, sizes=(16, 32, 64, 128, 256)):
    x = torch.tensor([math.log(1 / size) for size in sizes])
    y = torch.tensor([math.log(error) for error in found])
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


def gbm(xi, rate=RATE):
    """Ito solution exp((a - s^2 / 2) T + s B_T)."""
    return torch.exp((rate - SIGMA**2 / 2) + SIGMA * xi.sum(0) / math.sqrt(FINEST))


def test_euler_maruyama_has_order_one_half_on_geometric_brownian_motion():
    assert order(errors(SDE(linear(RATE), StateNoise(SIGMA)), euler_maruyama, gbm)) == pytest.approx(0.5, abs=0.1)


def test_exact_errors_of_euler_maruyama_are_reproduced():
    # Closed form of the root mean square error; the five numbers are pinned, the simulation must meet them.
    pinned = [0.0957945267883, 0.067279076966, 0.0474117053195, 0.0334679635435, 0.0236452147634]
    sizes = (16, 32, 64, 128, 256)
    for size, value in zip(sizes, pinned, strict=True):
        d, a, s = 1 / size, RATE, SIGMA
        square = (
            math.exp(2 * a + s * s)
            - 2 * (math.exp(a * d) * (1 + a * d + s * s * d)) ** size
            + ((1 + a * d) ** 2 + s * s * d) ** size
        )
        assert math.sqrt(square) == pytest.approx(value, rel=1e-8)
    found = errors(SDE(linear(RATE), StateNoise(SIGMA)), euler_maruyama, gbm)
    # 4000 paths with heavy-tailed errors: about 3 % standard error, so 15 % is five of them.
    assert found == pytest.approx(pinned, rel=0.15)


def test_euler_maruyama_has_order_one_on_additive_noise():
    # Ornstein-Uhlenbeck: the exact solution is known in law only, so the reference is a path 16 times finer.
    sde = SDE(linear(-2.0), AdditiveNoise(0.7))
    xi = draw(Key(value=2), 2000, 4096, 1, dtype=torch.float64)
    h0 = torch.ones(2000, 1, dtype=torch.float64)
    end = integrate(sde, euler_maruyama, h0, nothing, duration=1.0, xi=xi)[-1]
    found = []
    for size in (16, 32, 64, 128):
        last = integrate(sde, euler_maruyama, h0, nothing, duration=1.0, xi=coarsen(xi, 4096 // size))[-1]
        found.append(float((last - end).square().mean().sqrt()))
    assert order(found, (16, 32, 64, 128)) == pytest.approx(1.0, abs=0.1)


def test_milstein_has_order_one_on_diagonal_noise():
    found = errors(SDE(linear(RATE, 2), StateNoise(SIGMA)), milstein, gbm, units=2)
    assert order(found) == pytest.approx(1.0, abs=0.1)


def test_milstein_has_order_one_on_one_common_brownian_motion():
    found = errors(SDE(linear(RATE, 2), CommonNoise(SIGMA)), milstein, gbm, units=2)
    assert order(found) == pytest.approx(1.0, abs=0.1)


def test_heun_converges_to_the_stratonovich_solution_and_not_to_the_ito_one():
    def stratonovich(xi):
        return torch.exp(RATE + SIGMA * xi.sum(0) / math.sqrt(FINEST))

    sde = SDE(linear(RATE), StateNoise(SIGMA), calculus=Calculus.STRATONOVICH)
    found = errors(sde, heun, stratonovich)
    assert order(found) == pytest.approx(1.0, abs=0.15)
    assert errors(sde, heun, gbm)[-1] > 0.1


def test_schemes_state_the_orders_that_were_measured():
    assert euler_maruyama.strong_order(Coupling.DIAGONAL) == 0.5
    assert euler_maruyama.strong_order(Coupling.ADDITIVE) == 1.0
    assert milstein.strong_order(Coupling.COMMON) == 1.0
    assert heun.strong_order(Coupling.COUPLED) == 0.5
    assert released(0.02).strong_order(Coupling.ADDITIVE) is None


def test_milstein_on_the_papers_own_noise_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"milstein is not right for COUPLED noise.*Use euler_maruyama"):
        SDECell(linear(RATE, 2), DriftNoise(0.1, 0.1), dt=0.1, scheme=milstein)


def test_heun_on_an_ito_equation_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"solves stratonovich equations.*use euler_maruyama, or declare"):
        SDECell(linear(RATE, 2), StateNoise(0.1), dt=0.1, scheme=heun)
    SDECell(linear(RATE, 2), AdditiveNoise(0.1), dt=0.1, scheme=heun)  # both calculi agree here
    with pytest.raises(ValueError, match=r"solves ito equations.*use heun"):
        SDECell(linear(RATE, 2), StateNoise(0.1), dt=0.1, calculus=Calculus.STRATONOVICH)


def test_square_root_of_a_freely_learned_step_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="positive=True"):
        SDECell(linear(RATE, 2), AdditiveNoise(0.1), dt=LearnedStep(2, 0.1, positive=False))
    SDECell(linear(RATE, 2), AdditiveNoise(0.1), dt=LearnedStep(2, 0.1, positive=False), scheme=released(0.0))


@pytest.mark.parametrize("bad", [0.0, -0.1, float("nan"), float("inf")])
def test_steps_that_are_not_positive_are_refused(bad):
    with pytest.raises(ValueError, match="positive finite"):
        SDECell(linear(RATE), dt=bad)
    with pytest.raises(ValueError, match="positive finite"):
        LearnedStep(2, bad, positive=True)


@pytest.fixture(scope="module")
def stall():
    """Root mean square distance from the true end point of dh = -h dt + 0.3 dB started at 1 (seen very finely)."""
    sde = SDE(linear(-1.0), AdditiveNoise(0.3))
    xi = draw(Key(value=6), 200, 4096, 1, dtype=torch.float64)
    h0 = torch.ones(200, 1, dtype=torch.float64)
    end = integrate(sde, euler_maruyama, h0, nothing, duration=1.0, xi=xi)[-1]

    def distance(scheme, size):
        last = integrate(sde, scheme, h0, nothing, duration=1.0, xi=coarsen(xi, 4096 // size))[-1]
        return float((last - end).square().mean().sqrt())

    return distance


def test_taming_as_printed_stalls(stall):
    coarse, fine = (stall(tamed_as_printed(0.5, 1.0), size) for size in (32, 256))
    assert fine > 0.05
    assert fine == pytest.approx(coarse, rel=0.1)


@pytest.mark.parametrize("scheme", [tamed, adaptive(LinearTaming(0.5, 1.0)), increment_tamed])
def test_convergent_taming_converges(stall, scheme):
    coarse, fine = stall(scheme, 32), stall(scheme, 256)
    assert fine < coarse / 5
    assert fine < 0.005


class Cubic(Drift):
    def forward(self, h, u):
        return h - h**3


def test_euler_maruyama_explodes_where_taming_does_not():
    sde = SDE(Cubic(units=1), StateNoise(1.0))
    xi = draw(Key(value=7), 200, 32, 1, dtype=torch.float64)
    h0 = torch.full((200, 1), 10.0, dtype=torch.float64)
    assert not integrate(sde, euler_maruyama, h0, nothing, duration=1.0, xi=xi).isfinite().all()
    for convergent in (tamed, increment_tamed):
        assert integrate(sde, convergent, h0, nothing, duration=1.0, xi=xi).isfinite().all()


def test_bounded_increment_step_keeps_the_cubic_finite_where_a_constant_step_explodes():
    h = torch.full((50, 1), 10.0, dtype=torch.float64)
    adaptive_cell = SDECell(Cubic(units=1), StateNoise(1.0), dt=StateStep(bounded_increment(1 / 32)))
    fixed_cell = SDECell(Cubic(units=1), StateNoise(1.0), dt=1 / 32).double()
    free, fixed = h, h
    for xi in draw(Key(value=8), 50, 64, 1, dtype=torch.float64):
        (free,) = adaptive_cell.step((free,), torch.zeros_like(h), None, xi, None)
        (fixed,) = fixed_cell.step((fixed,), torch.zeros_like(h), None, xi, None)
    assert free.isfinite().all()
    assert not fixed.isfinite().all()


@pytest.mark.parametrize("factor", [Dropout(0.3), StochasticDepth(0.3)])
def test_random_factors_have_mean_one_and_the_stated_reach(factor):
    n = 200_000
    uniforms = torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    h = torch.zeros(n, 2, dtype=torch.float64)
    d = factor(h, h, torch.tensor(0.1), uniforms).expand_as(h)
    # Mean of n Bernoulli(0.7) / 0.7: five standard errors, a false alarm in 2 million.
    assert float(d[:, 0].mean()) == pytest.approx(1.0, abs=5 * math.sqrt(0.3 / 0.7 / n))
    together = bool((d[:, 0] == d[:, 1]).all())
    assert together == isinstance(factor, StochasticDepth)


@pytest.mark.parametrize("bad", [-0.1, 1.0, 2.0])
def test_impossible_drop_probabilities_are_refused(bad):
    for factor in (Dropout, StochasticDepth):
        with pytest.raises(ValueError, match=r"\[0, 1\)"):
            factor(bad)


@pytest.mark.parametrize(
    "scheme", [euler_maruyama, milstein, heun, increment_tamed, tamed, released(0.1), adaptive(Dropout(0.2))]
)
def test_schemes_survive_pickling(scheme):
    again = pickle.loads(pickle.dumps(scheme))
    assert (again.name, again.drift_factor, again.advance) == (scheme.name, scheme.drift_factor, scheme.advance)


@scheme(order=0.5, calculus=Calculus.ITO, handles=Coupling.any())
def own_scheme(sde, h, u, dt, xi):
    return h + sde.drift(h, u) * dt


def test_own_schemes_are_pickled_and_copied_by_name():
    assert pickle.loads(pickle.dumps(own_scheme)) is own_scheme
    cell = SDECell(linear(RATE), dt=0.1, scheme=own_scheme)
    assert copy.deepcopy(cell).scheme is own_scheme
    assert pickle.loads(pickle.dumps(cell)).scheme is own_scheme


def test_scheme_and_diffusion_state_the_convention_of_their_noise():
    mixed = DriftNoise(0.4, 0.6, epsilon=0.5)
    assert euler_maruyama.noise_law(mixed) == NoiseLaw(convention=Convention.ITO, additive=0.2, multiplicative=0.3)
    assert euler_maruyama.noise_law(StateNoise(0.1)) is None
    assert released(0.3).noise_law(AdditiveNoise(0.1)) == NoiseLaw(
        convention=Convention.RELEASED, additive=0.1, multiplicative=0.3
    )
    assert milstein.noise_law(AdditiveNoise(0.1)) is None


def test_tamed_scheme_is_its_formula():
    sde = SDE(linear(-3.0, 2), AdditiveNoise(0.2))
    h, xi, dt = torch.randn(4, 2).double(), torch.randn(4, 2).double(), torch.tensor(0.1, dtype=torch.float64)
    f = -3 * h
    expected = h + f * dt / (1 + dt * f.norm(dim=-1, keepdim=True)) + 0.2 * dt.sqrt() * xi
    assert isinstance(tamed.drift_factor, HutzenthalerJentzenKloeden)
    assert torch.allclose(tamed(sde, h, torch.zeros_like(h), dt, xi), expected)
