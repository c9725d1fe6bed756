"""Streams: pieces joined are the whole, of a layer and of a classifier, noise included."""

import pytest
import torch

import noisyrnn
from noisyrnn.models import Certified, ClassicRNNSetting, CoRNNSetting, Noisy
from noisyrnn.rnn import Layer, Pooling, SDECell, Stream
from noisyrnn.rnn.pooling import RunningPool
from noisyrnn.sde import AdditiveNoise, Key, TanhDrift


@pytest.mark.parametrize("batch_first", [False, True])
def test_stream_equals_the_whole_noise_included(batch_first):
    layer = noisyrnn.NoisyRNN(1, 4, 2, additive=0.2, multiplicative=0.2, batch_first=batch_first)
    x = torch.randn(10, 3, 1)
    turned = (lambda t: t.transpose(0, 1)) if batch_first else (lambda t: t)
    key = Key(value=8)
    whole, _ = layer(turned(x), noise=True, key=key)
    stream = Stream(layer, noise=True, key=key)
    pieces = torch.cat([turned(stream(turned(x[a:b]))) for a, b in ((0, 1), (1, 5), (5, 10))])
    assert torch.allclose(pieces, turned(whole), atol=1e-6)
    with pytest.raises(ValueError, match="bidirectional"):
        Stream(noisyrnn.NoisyRNN(1, 4, bidirectional=True))


@pytest.mark.parametrize(
    "setting", [Noisy(hidden=4, additive=0.2), CoRNNSetting(hidden=4), ClassicRNNSetting(hidden=4)]
)
def test_stream_of_a_classifier_gives_the_logits_of_all_that_was_seen(setting):
    network = setting.build(inputs=1, classes=3).eval()
    x, noise = torch.randn(2, 9, 1), isinstance(setting, Noisy)
    call = {"noise": True, "key": Key(value=8)} if noise else {}
    stream = Stream(network, **call)
    for before, after in ((0, 1), (1, 5), (5, 9)):
        assert torch.allclose(stream(x[:, before:after]), network(x[:, :after], **call), atol=1e-6)


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.MEAN_MAX])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize(
    "setting",
    [
        Noisy(hidden=4, additive=0.2),
        CoRNNSetting(hidden=4),
        Certified(hidden=6, outputs=4, num_layers=2),
    ],
)
def test_stream_of_a_pooled_classifier_has_pooled_all_that_was_seen(setting, grad, pooling):
    # Without gradients single steps go by the quick way; a stream has it from the second on.
    network = setting.model_copy(update={"pooling": pooling}).build(inputs=1, classes=3).eval()
    x, noise = torch.randn(2, 9, 1), isinstance(setting, Noisy)
    call = {"noise": True, "key": Key(value=8)} if noise else {}
    stream = Stream(network, **call)
    with torch.set_grad_enabled(grad):
        for before, after in ((0, 1), (1, 2), (2, 2), (2, 6), (6, 7), (7, 8), (8, 9)):
            assert torch.allclose(stream(x[:, before:after]), network(x[:, :after], **call), atol=1e-5)


def test_a_running_mean_does_not_lose_small_steps_beside_a_large_sum():
    pool = RunningPool(Pooling.MEAN)
    pool(torch.full((1, 1, 1), 2.0**25))
    for _ in range(64):
        mean = pool(torch.ones(1, 1, 1))
    assert mean.item() == pytest.approx((2**25 + 64) / 65, rel=2e-7)


def test_stream_of_a_classifier_takes_the_times_between_its_inputs():
    network = noisyrnn.Classifier(noisyrnn.LipschitzRNN(1, 4), classes=2).eval()
    x, dt = torch.randn(3, 6, 1), torch.rand(3, 6) + 0.1
    stream = Stream(network)
    stream(x[:, :2], dt=dt[:, :2])
    assert torch.allclose(stream(x[:, 2:], dt=dt[:, 2:]), network(x, dt=dt), atol=1e-6)
    with pytest.raises(ValueError, match="bidirectional"):
        Stream(ClassicRNNSetting(hidden=4, bidirectional=True).build(1, 2))


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_stream_outlives_its_key(substeps):
    drift = TanhDrift(A=-torch.eye(3), W=torch.eye(3), U=torch.ones(3, 1), b=torch.zeros(3))
    layer = Layer(SDECell(drift, AdditiveNoise(0.1), dt=0.1, substeps=substeps))
    last = Key(value=8, step=2**32 // substeps - 5)
    x, stream = torch.randn(6, 2, 1), Stream(layer, noise=True, key=last)
    before = stream(x[:3])
    assert torch.equal(before, layer(x[:3], noise=True, key=last)[0])
    state = stream.state
    after = stream(x[3:])
    assert torch.equal(after, layer(x[3:], state, noise=True, key=last.successor())[0])
    assert stream.key == last.successor().later(3)
