"""Signs of masked gradients: none for a sound network, and the right ones for networks that hide their gradients."""

import pytest
import torch
from torch import Tensor, nn
from victims import CLASSES, Recurrent, predicted, seeded, z_scored

from noisyrnn.attack import Norm, signs


class Rounding(torch.autograd.Function):
    """round(x), with the gradient that it has: none."""

    @staticmethod
    def forward(_, x: Tensor) -> Tensor:
        return (x * 8).round() / 8

    @staticmethod
    def backward(_, slope: Tensor) -> Tensor:
        return torch.zeros_like(slope)


class Shattered(Rounding):
    """x, with a gradient that points nowhere."""

    @staticmethod
    def forward(_, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(_, slope: Tensor) -> Tensor:
        return torch.randn(slope.shape, generator=seeded(int(1e6 * float(slope.abs().sum())) % 1000))


def held(network: nn.Module, victim, norm: Norm = Norm.LINF, radius: float = 0.4) -> dict[str, bool]:
    x = z_scored(60)
    y = predicted(network, x)
    found = signs(victim, x, y, seeded(1), radius=radius, norm=norm, queries=150)
    assert len({sign.name for sign in found}) == 6
    return {sign.name: sign.holds for sign in found if not sign.weak}


@pytest.mark.parametrize(("norm", "radius"), [(Norm.LINF, 0.2), (Norm.L2, 0.6)])
def test_a_sound_network_shows_none(network, norm, radius):
    assert not any(held(network, network, norm, radius).values())


def test_rounded_inputs_show_zero_gradients_that_do_no_better_than_noise(network):
    found = held(network, lambda x: network(Rounding.apply(x)))
    assert found["gradients are zero"]
    assert found["noise does as well"]
    assert found["black box beats white box"]


def test_confidence_shows_zero_gradients(network):
    found = held(network, lambda x: 1e5 * network(x))
    assert found["gradients are zero"]
    assert found["black box beats white box"]


def test_shattered_gradients_lose_to_a_search(network):
    found = held(network, lambda x: network(Shattered.apply(x)))
    assert found["black box beats white box"]
    assert not found["gradients are zero"]


def test_a_gradient_that_is_right_only_at_the_sample_shows_that_one_step_is_better(network):
    x = z_scored(60)
    y = predicted(network, x)

    class OnlyThere(torch.autograd.Function):
        @staticmethod
        def forward(context, point: Tensor) -> Tensor:
            context.there = torch.equal(point, x)
            return point.clone()

        @staticmethod
        def backward(context, slope: Tensor) -> Tensor:
            return slope if context.there else -slope

    found = signs(lambda x: network(OnlyThere.apply(x)), x, y, seeded(), radius=0.4, queries=20)
    assert {sign.name for sign in found if sign.holds} >= {"one step beats many"}


def test_numbers_say_what_was_measured(network):
    x = z_scored(40)
    y = predicted(network, x)
    y[:4] = (y[:4] + 1) % CLASSES
    found = {sign.name: sign for sign in signs(network, x, y, seeded(), radius=0.0, queries=10)}
    # Nothing moves in a ball of radius 0.
    assert found["black box beats white box"].numbers == {"white box": 0.9, "black box": 0.9}
    assert found["noise does as well"].numbers == {"gain of noise": 0.0, "gain of attack": 0.0}
    assert found["a huge radius leaves accuracy"].numbers["radius"] == pytest.approx(float(x.max() - x.min()))


def test_stochastic_networks_are_averaged():
    network = Recurrent(noise=0.5)
    x = z_scored(10)
    y = predicted(Recurrent(), x)
    torch.manual_seed(0)
    found = signs(network, x, y, seeded(), radius=0.3, steps=4, queries=5, draws=2, passes=4)
    assert all(number >= 0 for sign in found for number in sign.numbers.values())
    assert network.calls % 4 == 0
