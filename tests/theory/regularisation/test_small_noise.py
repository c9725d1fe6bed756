"""The small-noise expansion: pathwise remainder, covariance of its first term, running cost."""

import math
from dataclasses import replace

import pytest
import torch

from noisyrnn.sde import AdditiveNoise, DenseNoise, DriftNoise, Key, draw, uniform
from noisyrnn.theory import Released, covariance, expansion, noisy_states, regulariser, remainder, running_cost
from noisyrnn.theory.known import random_example, reference


def mixed():
    return DriftNoise(torch.tensor(0.4, dtype=torch.float64), torch.tensor(0.6, dtype=torch.float64))


def problem(diffusion=None):
    return random_example(torch.Generator().manual_seed(0), samples=3, diffusion=diffusion or mixed())


@pytest.mark.parametrize("released", [False, True])
def test_remainder_is_bounded_as_the_noise_vanishes(released):
    P, chance = problem(), None
    if released:
        network = replace(
            P.network, diffusion=AdditiveNoise(torch.tensor(0.3).double()), released=Released(multiplicative=0.8)
        )
        P, chance = replace(P, network=network), uniform(Key(value=1), 3, 6, 4, dtype=torch.float64)
    xi = draw(Key(value=1), 3, 6, 4, dtype=torch.float64)
    sizes = [remainder(P.network, P.x, xi, chance, epsilon=eps).abs().max().item() for eps in (0.02, 0.01, 0.005)]
    assert 0 < sizes[2] < 10
    assert sizes[1] / sizes[2] == pytest.approx(1, abs=0.05)
    # Without h^(2) the error would be of second order: the term is there and it is the right one.
    parts = expansion(P.network, P.x, xi, chance)
    error = [
        (noisy_states(P.network, P.x, xi, chance, epsilon=eps) - parts.at(eps)).abs().max().item()
        for eps in (0.02, 0.01)
    ]
    assert math.log2(error[0] / error[1]) == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("dense", [False, True])
def test_covariance_is_that_of_the_first_term(dense):
    """h^(1) is linear in the noise, so its covariance is its derivative times the transpose: exactly, not sampled."""
    S = torch.randn(4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    P = problem(DenseNoise(S) if dense else None)
    noises = 3 if dense else 4
    one = P.x[:1]

    def first(xi):
        return expansion(P.network, one, xi.reshape(6, 1, noises)).h1[0]

    slope = torch.autograd.functional.jacobian(first, torch.zeros(6 * noises, dtype=torch.float64))
    expected = slope @ slope.mT
    assert (covariance(P.network, one)[0] - expected).abs().max() < 1e-13


def test_running_cost_adds_up_to_half_of_R_and_stays_below_its_bound():
    P = problem()
    cost = running_cost(P.network, P.x, P.loss)
    assert torch.allclose(cost.cost.sum(1), regulariser(P.network, P.x, P.loss, Q=False).R / 2, atol=1e-14)
    assert bool((cost.cost <= cost.bound).all())
    linear = reference(additive=0.4)
    assert running_cost(linear.network, linear.x, linear.loss).cost.shape == (1, 6)


def test_a_noise_path_of_the_wrong_length_is_refused():
    P = problem()
    with pytest.raises(ValueError, match="6 steps, got 5"):
        expansion(P.network, P.x, torch.zeros(5, 3, 4, dtype=torch.float64))
    with pytest.raises(ValueError, match="eps != 0"):
        remainder(P.network, P.x, torch.zeros(6, 3, 4, dtype=torch.float64), epsilon=0.0)
