"""Loss landscape: values, curvature, and parameters put back."""

import pytest
import torch
from torch import nn

from noisyrnn.theory.curvature.hessian import Hessian, cross_entropy
from noisyrnn.theory.curvature.loss_landscape import landscape


@pytest.fixture
def H():
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 3)).double()
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    x = torch.randn(10, 3, generator=generator, dtype=torch.float64)
    return Hessian(network, x, torch.arange(10) % 3, batch=4)


def test_values_curvatures_and_restoration(H):
    before = [parameter.clone() for parameter in H.network.parameters()]
    surface = landscape(H, radius=1e-3, points=3)
    H.network.eval()
    middle = float(cross_entropy(H.network, H.x, H.y).detach())
    assert float(surface.loss[1, 1]) == pytest.approx(middle, abs=1e-12)
    along = (surface.loss[0, 1] - 2 * surface.loss[1, 1] + surface.loss[2, 1]) / 1e-6
    across = (surface.loss[1, 0] - 2 * surface.loss[1, 1] + surface.loss[1, 2]) / 1e-6
    assert (float(along), float(across)) == pytest.approx(surface.curvatures, rel=1e-3)
    assert all(torch.equal(old, new) for old, new in zip(before, H.network.parameters(), strict=True))


def test_own_directions(H):
    directions = torch.eye(H.size, dtype=torch.float64)[:, :2]
    surface = landscape(H, directions=directions, radius=0.5, points=5)
    assert surface.curvatures is None
    H.network.eval()
    with torch.no_grad():
        H.network[0].weight[0, 0] += 0.5
        H.network[0].weight[0, 1] -= 0.25
    assert float(surface.loss[4, 1]) == pytest.approx(float(cross_entropy(H.network, H.x, H.y).detach()), abs=1e-12)


def test_parameters_come_back_after_a_failure(H):
    before = [parameter.clone() for parameter in H.network.parameters()]
    calls = []

    def failing(network, x, y):
        calls.append(1)
        if len(calls) > 5:
            raise RuntimeError("stop")
        return cross_entropy(network, x, y)

    H.loss = failing
    with pytest.raises(RuntimeError, match="stop"):
        landscape(H, directions=torch.eye(H.size, dtype=torch.float64)[:, :2], points=3)
    assert all(torch.equal(old, new) for old, new in zip(before, H.network.parameters(), strict=True))
    assert H.network.training


def test_wrong_use(H):
    with pytest.raises(ValueError, match="points >= 2"):
        landscape(H, points=1)
    with pytest.raises(ValueError, match="one column each"):
        landscape(H, directions=torch.ones(3, 2))
