"""Continuous time: solvable systems, Ito against Stratonovich, and the discrete regulariser's limit."""

import math

import pytest
import torch

from noisyrnn.sde import SDE, AdditiveNoise, Calculus, DriftNoise, heun
from noisyrnn.theory import (
    Network,
    OwnLoss,
    continuous_regulariser,
    continuous_regulariser_as_printed,
    moments,
    noise_laplacian,
    regulariser,
)
from noisyrnn.theory.known import QuadraticDecay, geometric_brownian_motion, reference

MEAN = OwnLoss(lambda h: h.sum())
SQUARE = OwnLoss(lambda h: h.square().sum())
START = torch.full((1, 1), 1.2, dtype=torch.float64)


def test_the_printed_term_is_the_stratonovich_correction():
    gbm = geometric_brownian_motion(0.3, 0.8)
    assert continuous_regulariser(gbm, MEAN, START, T=1.5, steps=48).total.item() == 0
    printed = continuous_regulariser_as_printed(gbm, MEAN, START, T=1.5, steps=48).total.item()
    assert printed == pytest.approx(1.8066956376846746, rel=1e-8)
    stratonovich = geometric_brownian_motion(0.3, 0.8, calculus=Calculus.STRATONOVICH)
    assert continuous_regulariser(stratonovich, MEAN, START, T=1.5, steps=48).total.item() == printed

    result = continuous_regulariser(gbm, SQUARE, START, T=1.5, steps=48)
    assert result.total.item() == pytest.approx(6.800310681726734, rel=1e-8)
    assert result.Q.item() == 0
    doubled = continuous_regulariser_as_printed(gbm, SQUARE, START, T=1.5, steps=48).total.item()
    assert doubled == pytest.approx(2 * 6.800310681726734, rel=1e-8)


def test_a_nonlinear_drift_with_a_known_Q():
    one = torch.ones(1, 1, dtype=torch.float64)
    unit = AdditiveNoise(torch.tensor(1.0, dtype=torch.float64))
    assert continuous_regulariser(SDE(QuadraticDecay(), unit), MEAN, one, T=1.0, steps=64).Q.item() == pytest.approx(
        -0.325, abs=1e-8
    )
    assert continuous_regulariser(
        SDE(QuadraticDecay(), unit), MEAN, 2 * one, T=0.5, steps=64
    ).Q.item() == pytest.approx(QuadraticDecay.Q(2.0, 0.5), abs=1e-8)
    discrete = Network(drift=QuadraticDecay(), dt=0.001, diffusion=unit, h0=one[0])
    result = regulariser(discrete, torch.zeros(1, 1000, 1, dtype=torch.float64), MEAN)
    assert result.Q.item() == pytest.approx(-0.3252496088864637, abs=1e-10)


def system():
    P = reference(additive=0.4, multiplicative=0.6)
    x = torch.tensor([[[0.3, -0.5]]], dtype=torch.float64)
    return P, x, SDE(P.network.drift, P.network.diffusion)


def test_euler_tends_to_the_ito_value_and_heun_to_the_stratonovich_one():
    P, x, sde = system()
    h0 = P.network.h0.unsqueeze(0)
    loss = P.loss
    ito = continuous_regulariser(sde, loss, h0, x, T=1.0, steps=64).total.item()
    other = SDE(sde.drift, sde.diffusion, calculus=Calculus.STRATONOVICH)
    stratonovich = continuous_regulariser(other, loss, h0, x, T=1.0, steps=64).total.item()
    assert abs(ito - stratonovich) > 0.01

    def euler(steps):
        network = Network(drift=sde.drift, diffusion=sde.diffusion, dt=1 / steps, h0=P.network.h0)
        return regulariser(network, x.expand(1, steps, 2), loss).total.item()

    def heun_at(steps):
        u, dt = sde.drift.encode(x[:, 0]), torch.tensor(1 / steps, dtype=torch.float64)

        def of_path(xi):
            h = h0
            for one in xi:
                h = heun(other, h, u, dt, one)
            return loss.value(h)

        return noise_laplacian(of_path, torch.zeros(steps, 1, 4, dtype=torch.float64)).item()

    assert 2 * euler(200) - euler(100) == pytest.approx(ito, abs=1e-4)
    assert 2 * heun_at(16) - heun_at(8) == pytest.approx(stratonovich, abs=2e-3)


def test_covariance_solves_its_equation():
    gbm = moments(geometric_brownian_motion(0.3, 0.8), START, T=1.0, steps=64)
    assert gbm.C.item() == pytest.approx(1.2**2 * 0.8**2 * math.exp(0.6), rel=1e-9)
    P, x, sde = system()
    held = moments(sde, P.network.h0.unsqueeze(0), x, T=1.0, steps=32)
    function = moments(sde, P.network.h0.unsqueeze(0), lambda t: x[:, 0], T=1.0, steps=32)
    assert torch.equal(held.C, function.C)


def test_held_inputs_change_at_the_right_time():
    """Two entries held for half of [0, T] each: the same as two runs, one after the other."""
    P, _, _ = system()
    sde = SDE(P.network.drift, DriftNoise())
    h0, x = P.network.h0.unsqueeze(0), P.x[:, :2]
    whole = moments(sde, h0, x, T=1.0, steps=32).h
    half = moments(sde, h0, x[:, :1], T=0.5, steps=16).h
    assert torch.allclose(whole, moments(sde, half, x[:, 1:], T=0.5, steps=16).h, atol=1e-14)
    with pytest.raises(ValueError, match="multiple"):
        moments(sde, h0, x, T=1.0, steps=33)
