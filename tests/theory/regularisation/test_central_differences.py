"""Differences along a noise path are those of the written-out chain, and on average Theorem 1's regulariser."""

import pytest
import torch

from noisyrnn.models import Noisy
from noisyrnn.rnn import Route, routed
from noisyrnn.sde import Convention, Key, draw, uniform
from noisyrnn.theory import Network, expected_loss_by_differences, noisy_states, regulariser

KEY = Key(value=11)


def case(convention, samples=3):
    torch.manual_seed(1)
    strength = {"additive": 0.3 if convention is Convention.ITO else 0.1, "multiplicative": 0.4}
    setting = Noisy(hidden=5, dt=0.2, convention=convention, learned_step=convention is Convention.RELEASED, **strength)
    network = setting.build(inputs=2, classes=3).double()
    with torch.no_grad():
        network.readout.weight.mul_(4)
    x = torch.randn(1, 6, 2, dtype=torch.float64).expand(samples, -1, -1)
    formulas = Network.of_classifier(network)
    return network, formulas, x, formulas.cross_entropy(torch.zeros(samples, dtype=torch.int64))


@pytest.mark.parametrize("route", [Route.NATIVE, Route.EAGER])
@pytest.mark.parametrize("convention", list(Convention))
def test_one_path_is_that_of_the_written_out_chain_in_values_and_gradients(convention, route):
    network, formulas, x, loss = case(convention)
    with routed(route):
        found = expected_loss_by_differences(formulas, x, loss, key=KEY, size=0.5, epsilon=2.0)
    xi, uniforms = (law(KEY, len(x), x.shape[1], 5).double() for law in (draw, uniform))
    ends = [noisy_states(formulas.centred(), x, xi, uniforms, epsilon=size)[:, -1] for size in (0.0, 0.5, -0.5)]
    sound, there, back = (loss.value(end) for end in ends)
    written = sound + 16 * ((there + back) / 2 - sound)
    torch.testing.assert_close(found, written, rtol=1e-5, atol=1e-6)
    weights = list(network.parameters())
    slopes, of_written = (torch.autograd.grad(one.sum(), weights) for one in (found, written))
    torch.testing.assert_close(slopes, of_written, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("convention", list(Convention))
def test_mean_over_paths_is_the_regulariser(convention):
    _, formulas, x, loss = case(convention, samples=100_000)
    with torch.no_grad():
        found = expected_loss_by_differences(formulas, x, loss, key=KEY, size=0.1)
        one = Network.of_classifier(case(convention)[0]).centred()
        _, _, few, of_few = case(convention, samples=1)
        exact = regulariser(one, few, of_few)
    error = found.std() / len(found) ** 0.5
    difference = found.mean() - exact.expected_loss(1.0).item()
    assert abs(difference) < 4 * error + 0.02 * abs(exact.total.item())
    assert error < 0.05 * abs(exact.total.item())


def test_what_they_are_not_about_is_refused():
    _, formulas, x, loss = case(Convention.ITO)
    with pytest.raises(ValueError, match="size above 0"):
        expected_loss_by_differences(formulas, x, loss, key=KEY, size=0.0)
    other = Noisy(hidden=5, activation="relu", convention=Convention.ITO).build(inputs=2, classes=3).double()
    with pytest.raises(ValueError, match="use probe"):
        expected_loss_by_differences(Network.of_classifier(other), x, loss, key=KEY)
