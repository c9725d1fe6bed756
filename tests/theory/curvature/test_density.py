"""Spectral density: mass, moments and distribution against exact eigenvalues."""

import pytest
import torch
from torch import nn

from noisyrnn.theory.curvature.density import spectral_density
from noisyrnn.theory.curvature.hessian import Hessian, hutchinson_trace


def quadratic(values):
    """A Hessian with given eigenvalues: L = mean_i lambda_i p_i^2 n/2 over the coordinates as samples."""
    network = nn.Linear(len(values), 1, bias=False, dtype=torch.float64)
    x = torch.eye(len(values), dtype=torch.float64)
    return Hessian(
        network, x, values, loss=lambda net, x, y: (len(values) * y * net(x).squeeze(-1).square()).mean() / 2
    )


EIGENVALUES = torch.cat(
    (torch.linspace(-0.2, 0.4, 96, dtype=torch.float64), torch.tensor([3.0, 5.0, 5.0, 9.0]).double())
)


def test_moments_and_mass():
    H = quadratic(EIGENVALUES)
    assert torch.allclose(H.dense().diagonal(), EIGENVALUES)
    found = spectral_density(H, steps=40, probes=8)
    assert torch.allclose(found.weights.sum(1), torch.ones(8, dtype=torch.float64))
    # Signs see a diagonal matrix exactly, so here the moments carry no sampling error at all.
    assert found.mean == pytest.approx(float(EIGENVALUES.mean()), abs=1e-10)
    assert found.second_moment == pytest.approx(float(EIGENVALUES.square().mean()), abs=1e-10)
    t = torch.linspace(-2, 11, 4001, dtype=torch.float64)
    curve = found.at(t, width=0.1)
    assert float(torch.trapezoid(curve, t)) == pytest.approx(1, abs=1e-6)
    assert float(torch.trapezoid(t * curve, t)) == pytest.approx(found.mean, abs=1e-6)


def test_distribution_is_that_of_the_eigenvalues():
    found = spectral_density(quadratic(EIGENVALUES), steps=40, probes=8)
    for edge in (0.0, 0.2, 1.0, 4.0, 6.0):
        mass = float(found.weights[found.nodes <= edge].sum()) / 8
        assert mass == pytest.approx(float((edge >= EIGENVALUES).double().mean()), abs=0.03)
    assert float(found.nodes.max()) == pytest.approx(9.0, abs=1e-8)
    assert float(found.nodes.min()) == pytest.approx(-0.2, abs=0.01)


def test_no_ghosts_when_steps_exceed_the_spectrum():
    """Four distinct eigenvalues of twelve: every probe ends after four steps, with each found once."""
    values = torch.tensor([-1.0, 0.0, 2.0, 7.0], dtype=torch.float64).repeat(3)
    found = spectral_density(quadratic(values), steps=12, probes=3)
    assert found.nodes.shape == (3, 4)
    assert torch.allclose(found.nodes, torch.tensor([-1.0, 0.0, 2.0, 7.0], dtype=torch.float64).expand(3, 4), atol=1e-9)


def test_mean_is_the_trace_of_a_real_network():
    generator = torch.Generator().manual_seed(2)
    network = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 3)).double()
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    x, y = torch.randn(20, 3, generator=generator, dtype=torch.float64), torch.arange(20) % 3
    H = Hessian(network, x, y)
    found, exact = spectral_density(H, steps=8, probes=64), float(H.dense().trace()) / H.size
    assert abs(found.mean - exact) < 3 * found.mean_error
    assert found.mean == pytest.approx(hutchinson_trace(H, 200).value / H.size, abs=4 * found.mean_error)


def test_wrong_use():
    with pytest.raises(ValueError, match="probes >= 2"):
        spectral_density(quadratic(EIGENVALUES), probes=1)
