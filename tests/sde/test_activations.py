"""Activations: what they state is true."""

import pickle

import pytest
import torch

from noisyrnn.sde.activations import Activation, ActivationName, activation

GRID = torch.linspace(-8, 8, 20001, dtype=torch.float64)


@pytest.mark.parametrize("name", list(ActivationName))
def test_stated_slope_is_the_derivative_and_fills_its_interval(name):
    a = name.activation
    z = GRID[GRID.abs() > 1e-9].requires_grad_()
    (slope,) = torch.autograd.grad(a(z).sum(), z)
    assert torch.allclose(a.slope(z), slope, atol=1e-7)
    assert a.slope_min - 1e-7 <= float(slope.min())
    assert float(slope.max()) <= a.slope_max + 1e-7
    # The interval is tight up to the grid and the tails, so that no bound built on it is needlessly loose.
    assert float(slope.max()) > a.slope_max - 2e-3
    assert float(slope.min()) < a.slope_min + 0.02
    assert a.lipschitz == max(abs(a.slope_min), abs(a.slope_max))


@pytest.mark.parametrize("name", [name for name in ActivationName if name.activation.curvature is not None])
def test_stated_curvature_is_the_second_derivative_and_its_bound_is_sharp(name):
    a = name.activation
    z = GRID.clone().requires_grad_()
    (curvature,) = torch.autograd.grad((a.slope(z) * 1.0 + 0 * z).sum(), z)
    assert torch.allclose(a.second_derivative(z), curvature, atol=1e-7)
    assert float(curvature.abs().max()) == pytest.approx(a.curvature_max, abs=1e-5)


@pytest.mark.parametrize("name", ["relu", "leaky-relu", "softsign"])
def test_activation_without_second_derivative_says_so(name):
    with pytest.raises(ValueError, match=f"'{name}' has no second derivative.*tanh"):
        activation(name).second_derivative(GRID)


def test_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown activation 'swish'; choose one of tanh, sigmoid"):
        activation("swish")


def test_only_lipschitz_activations_are_admitted():
    with pytest.raises(ValueError, match="finite slope interval"):
        Activation(name="cube", value=lambda z: z**3, slope=lambda z: 3 * z**2, slope_min=0.0, slope_max=float("inf"))
    with pytest.raises(ValueError, match="curvature"):
        Activation(name="half", value=torch.tanh, slope=torch.cos, slope_min=0.0, slope_max=1.0, curvature=torch.sin)


@pytest.mark.parametrize("name", list(ActivationName))
def test_activation_survives_pickling(name):
    assert pickle.loads(pickle.dumps(name.activation)) == name.activation
