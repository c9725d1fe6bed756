"""One input at a time by the kernel: the numbers of the whole sequence, and those of the weights as they are."""

import pytest
import torch

import noisyrnn
from noisyrnn.rnn import Route, Stream, native, routed
from noisyrnn.sde import Convention, Key

pytestmark = pytest.mark.skipif(not native.available(), reason=native.status())
KEY = Key(value=2**63 + 11, sample=4, step=7)


@pytest.mark.parametrize("instructions", native.instruction_sets())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("batch", "units", "inputs"), [(1, 128, 1), (5, 33, 3), (40, 7, 12)])
@pytest.mark.parametrize("noise", [None, *Convention])
def test_steps_joined_are_the_whole(instructions, dtype, batch, units, inputs, noise):
    more = {} if noise is None else {"convention": noise}
    layer = noisyrnn.NoisyRNN(inputs, units, additive=0.2, multiplicative=0.1, dtype=dtype, **more)
    x = torch.randn(6, batch, inputs, dtype=dtype)
    call = {} if noise is None else {"key": KEY}
    with torch.no_grad(), native.instructions(instructions):
        whole, _ = layer(x, noise=noise is not None, **call)
        stream = Stream(layer, noise=noise is not None, **call)
        steps = torch.cat([stream(x[t : t + 1]) for t in range(6)])
        assert stream._quick.step is not None
    assert torch.allclose(steps, whole, rtol=1e-5, atol=1e-6 if dtype == torch.float32 else 1e-12)


def test_classifiers_and_layers_with_the_batch_first():
    layer = noisyrnn.LipschitzRNN(2, 5, batch_first=True).eval()
    network, x = noisyrnn.Classifier(layer, classes=3), torch.randn(4, 6, 2)
    with torch.no_grad():
        watch, follow = Stream(network), Stream(layer)
        for t in range(6):
            logits, output = watch(x[:, t : t + 1]), follow(x[:, t : t + 1])
            assert torch.allclose(logits, network(x[:, : t + 1]), atol=1e-6)
            assert torch.allclose(output, layer(x)[0][:, t : t + 1], atol=1e-6)
        assert watch._quick.step is not None


def test_changed_and_replaced_weights_are_seen():
    layer, x = noisyrnn.LipschitzRNN(1, 5).eval(), torch.randn(3, 1, 1)
    with torch.no_grad():
        stream = Stream(layer)
        stream(x[:1])
        before = stream(x[1:2])
        state = stream.state
        changes = (
            lambda: layer.cells[0].sde.drift.input.bias.add_(1),
            lambda: layer.load_state_dict({k: v + 0.1 for k, v in layer.state_dict().items()}, assign=True),
            lambda: layer.double() and layer.float(),
        )
        for change in changes:
            change()
            stream.state = state
            assert torch.allclose(stream(x[2:]), layer(x[2:], state)[0], atol=1e-6)
        assert before.shape == (1, 1, 5)


def test_gradients_routes_and_wrong_shapes_go_the_ordinary_way():
    layer, x = noisyrnn.LipschitzRNN(1, 5), torch.randn(2, 3, 1)
    stream = Stream(layer)
    stream(x[:1])
    assert stream(x[1:]).requires_grad
    with torch.no_grad():
        with routed(Route.SCAN):
            stream(x[:1])
        assert stream._quick.step is None
        stream(x[:1])
        assert stream._quick.step is not None
        with pytest.raises(ValueError, match="h_0 must have shape"):
            stream(x[:1, :2])
        with pytest.raises(ValueError, match="features"):
            stream(torch.zeros(1, 3, 2))
        with pytest.raises(ValueError, match="weights are"):
            stream(torch.zeros(1, 3, 1, dtype=torch.float64))
