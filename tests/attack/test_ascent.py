"""Gradients of a stochastic network are expectations, and asking for them leaves no trace in the network."""

import pytest
import torch
from torch import Tensor
from victims import Recurrent, predicted, seeded, z_scored

from noisyrnn.attack import FGSM, PGD, Keep, Norm, excess, gradient


def test_expectation_over_noise_averages_the_gradient():
    network = Recurrent(noise=1.0)
    x, y = z_scored(3), torch.tensor([0, 1, 2])
    torch.manual_seed(0)
    singles = torch.stack([gradient(network, x, y)[0] for _ in range(16)])
    torch.manual_seed(0)
    torch.testing.assert_close(gradient(network, x, y, passes=16)[0], singles.mean(0))
    assert float(singles.std(0).max()) > 1e-3


def test_passes_are_counted():
    network = Recurrent(noise=0.5)
    FGSM(radius=0.1, passes=7)(network, z_scored(2), torch.tensor([0, 1]))
    assert network.calls == 7


def test_expectation_over_noise_finds_stronger_attacks():
    network, quiet = Recurrent(noise=3.0), Recurrent()
    x = z_scored(200)
    y = predicted(quiet, x)
    torch.manual_seed(1)
    gains = {
        passes: float(excess(quiet(FGSM(radius=0.3, passes=passes)(network, x, y)), y).detach().mean())
        for passes in (1, 32)
    }
    assert gains[32] > gains[1] + 0.05


@pytest.mark.parametrize("training", [True, False])
def test_the_network_is_left_as_it_was(training):
    network = Recurrent().train(training)
    network.readout.bias.requires_grad_(False)
    network.readout.weight.grad = torch.full_like(network.readout.weight, 7.0)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    wanted = [parameter.requires_grad for parameter in network.parameters()]
    x, y = z_scored(4), torch.tensor([0, 1, 2, 0])
    kept = x.clone()
    with torch.no_grad():  # an evaluation loop is the usual caller
        FGSM(radius=0.1)(network, x, y)
        PGD(radius=0.1, steps=2)(network, x, y, seeded())
    assert network.training is training
    assert network.layer.training is training
    assert [parameter.requires_grad for parameter in network.parameters()] == wanted
    assert network.layer.weight_hh_l0.grad is None
    assert bool((network.readout.weight.grad == 7).all())
    assert torch.equal(x, kept)
    assert not x.requires_grad
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())


def test_flags_are_restored_when_the_network_fails():
    class Broken(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("no")

    network = Broken()
    with pytest.raises(RuntimeError, match="no"):
        FGSM(radius=0.1)(network, z_scored(1), torch.tensor([0]))
    assert all(parameter.requires_grad for parameter in network.parameters())


def test_gradients_that_vanish_or_overflow_do_not_spoil_the_result():
    def steep(x: Tensor) -> Tensor:
        return torch.stack([x.sum((1, 2)) * 1e38 * 1e3, 0 * x.sum((1, 2))], dim=1)

    x, y = z_scored(3), torch.tensor([0, 0, 0])
    for norm in Norm:
        assert bool(PGD(radius=0.1, norm=norm, steps=2)(steep, x, y, seeded()).isfinite().all())
        flat = PGD(radius=0.1, norm=norm, steps=2, random_start=False, keep=Keep.LAST)
        assert torch.equal(flat(lambda x: 0 * x[:, 0], x, y), x)
