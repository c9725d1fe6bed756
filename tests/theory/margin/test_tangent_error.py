"""kappa bounds the tangent's error everywhere, and for tanh it is attained."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noisyrnn.sde import ActivationName, activation
from noisyrnn.theory.margin.tangent_error import tangent_error


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([name.value for name in ActivationName]),
    z=st.floats(-6, 6),
    rho=st.floats(1e-9, 10),
)
def test_kappa_is_never_exceeded(name, z, rho):
    a = activation(name)
    z, t = torch.tensor(z, dtype=torch.float64), torch.linspace(-rho, rho, 4001, dtype=torch.float64)
    strayed = (a(z + t) - a(z) - a.slope(z) * t).abs().max()
    bound = tangent_error(a, z, torch.tensor(rho, dtype=torch.float64))
    # The slope 0.01 of the leaky ReLU is known to single precision only.
    rounding = 1e-9 if name == "leaky-relu" else 1e-15
    assert strayed <= bound + rounding * (1 + rho)
    if name in {"tanh", "sigmoid", "relu", "leaky-relu"}:
        assert bound <= strayed * (1 + 1e-3) + 1e-9 * (1 + rho)


def test_tiny_radii_do_not_drown_in_roundoff():
    z, rho = torch.tensor([0.7], dtype=torch.float64), torch.tensor([1e-20], dtype=torch.float64)
    assert tangent_error(activation("tanh"), z, rho).item() < 1e-39


@pytest.mark.parametrize("name", ["identity"])
def test_a_linear_activation_has_no_error(name):
    z = torch.linspace(-3, 3, 7, dtype=torch.float64)
    assert bool((tangent_error(activation(name), z, torch.ones_like(z)) == 0).all())
