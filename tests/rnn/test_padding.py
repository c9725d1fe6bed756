"""What stands in the padding never counts: not in a state, not in a gradient, on no route."""

import pytest
import torch

from noisyrnn import AntisymmetricRNN, ClassicRNN, Classifier, Convention, CoRNN, ExpRNN, Key, NoisyRNN
from noisyrnn.rnn import Route
from noisyrnn.rnn.cell import NoisePath
from noisyrnn.rnn.reference import scan

LENGTHS = torch.tensor([6, 3, 1])
LAYERS = {
    "two layers, both directions": lambda: NoisyRNN(2, 5, 2, bidirectional=True),
    "Ito, learned steps": lambda: NoisyRNN(2, 5, convention=Convention.ITO, learned_step=True),
    "substeps": lambda: NoisyRNN(2, 5, convention=Convention.ITO, substeps=2),
    "gated": lambda: AntisymmetricRNN(2, 5, gated=True),
    "coRNN": lambda: CoRNN(2, 5, 2, bidirectional=True),
    "expRNN": lambda: ExpRNN(2, 5),
    "LSTM": lambda: ClassicRNN(2, 5),
}


def padded(value: float) -> torch.Tensor:
    x = torch.randn(6, 3, 2, generator=torch.Generator().manual_seed(1))
    for sample, length in enumerate(LENGTHS):
        x[length:, sample] = value
    return x.requires_grad_()


def passed(layer, value: float, route: Route):
    x = padded(value)
    key = None if isinstance(layer, ClassicRNN) else Key(value=3)
    output, h_n = layer(x, lengths=LENGTHS, route=route, key=key)
    last = torch.cat(h_n) if isinstance(h_n, tuple) else h_n
    gradients = torch.autograd.grad(output.sum() + last.square().sum(), [x, *layer.parameters()], allow_unused=True)
    return output, last, *(gradient for gradient in gradients if gradient is not None)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("route", Route)
@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_zeros(name: str, route: Route, value: float) -> None:
    layer = LAYERS[name]()
    try:
        expected = passed(layer, 0.0, route)
    except ValueError as error:
        pytest.skip(str(error))
    for found, wanted in zip(passed(layer, value, route), expected, strict=True):
        assert found.isfinite().all()
        assert torch.equal(found, wanted)


def test_second_derivatives_are_finite() -> None:
    layer = NoisyRNN(2, 5)
    for route in (Route.SCAN, Route.EAGER):
        x = padded(torch.nan)
        output, _ = layer(x, lengths=LENGTHS, route=route, noise=False)
        (slope,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
        for curvature in torch.autograd.grad(slope.square().sum(), layer.parameters(), allow_unused=True):
            assert curvature is None or curvature.isfinite().all()


def test_the_reference_loop_itself_looks_at_no_padding() -> None:
    cell = CoRNN(2, 5).cells[0]
    x = padded(torch.nan)
    output, states = scan(cell, x, cell.start(3, x), path=NoisePath(None, None), lengths=LENGTHS)
    gradients = torch.autograd.grad(output.sum() + states[1].sum(), [x, *cell.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_a_classifier_with_a_mask() -> None:
    network = Classifier(NoisyRNN(2, 5, batch_first=True), classes=3)
    x, mask = padded(torch.nan).transpose(0, 1), torch.arange(6) < LENGTHS[:, None]
    loss = torch.nn.functional.cross_entropy(network(x, mask=mask), torch.tensor([0, 1, 2]))
    loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters())
