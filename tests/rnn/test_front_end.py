"""The front end and the network behind it: lengths, strides, causality, step sizes."""

import pytest
import torch

import noisyrnn
from noisyrnn.models import FrontedSetting, FrontEndSetting, Lipschitz, Noisy
from noisyrnn.rnn import FrontedClassifier, FrontEnd, Pooling, stride_rule


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("stride", [1, 3])
def test_a_padded_series_gives_what_it_gives_alone(causal, stride):
    front = FrontEnd(2, 8, stride=stride, width=5, causal=causal)
    x, lengths = torch.randn(4, 30, 2), torch.tensor([30, 7, 1, 16])
    z, counts = front(x, lengths)
    for one, end, steps, features in zip(x, lengths, counts, z, strict=True):
        alone, none = front(one[None, :end])
        assert none is None
        assert alone.shape[1] == steps == -(-end // stride)
        assert torch.allclose(features[:steps], alone[0], atol=1e-6)
        assert (features[steps:] == 0).all()


def test_a_causal_front_end_does_not_look_ahead_and_the_other_does():
    x = torch.randn(1, 40, 1)
    changed = x.clone()
    changed[:, 21:] += 1
    for causal in (True, False):
        front = FrontEnd(1, 4, stride=4, width=9, causal=causal)
        same = torch.isclose(front(x)[0], front(changed)[0]).all(-1)[0]
        assert same[:6].all() == causal
        assert not same[6:].all()


@pytest.mark.parametrize("steps", [1, 2, 24, 140, 500, 5000])
def test_the_rule_leaves_about_64_steps_and_odd_widths(steps):
    stride, width = stride_rule(steps)
    assert width % 2 == 1
    assert width <= max(steps, 1)
    assert -(-steps // stride) <= 96
    assert steps < 96 or -(-steps // stride) >= 48


@pytest.mark.parametrize("pooling", list(Pooling))
@pytest.mark.parametrize("batch_first", [False, True])
def test_the_network_reads_valid_steps_only(pooling, batch_first):
    layer = noisyrnn.LipschitzRNN(4, 6, dt=0.3, bidirectional=True, batch_first=batch_first)
    network = FrontedClassifier(layer, 3, front_end=FrontEnd(1, 4, stride=2, width=5), pooling=pooling).eval()
    x, lengths = torch.randn(3, 20, 1), torch.tensor([20, 9, 1])
    padded = x.clone()
    padded[1, 9:], padded[2, 1:] = torch.nan, torch.nan
    logits = network(padded, lengths=lengths)
    for row, one, end in zip(logits, x, lengths, strict=True):
        assert torch.allclose(row, network(one[None, :end])[0], atol=1e-5)
    logits.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters() if parameter.grad is not None)


def test_step_sizes_are_the_time_since_the_step_before():
    setting = FrontedSetting(
        front_end=FrontEndSetting(stride=3, width=5, causal=True), model=Lipschitz(hidden=4, dt=0.2, learned_step=False)
    )
    network = setting.build(1, 2).eval()
    x = torch.randn(2, 10, 1)
    even = network(x, dt=torch.full((2, 10), 0.2))
    assert torch.allclose(even, network(x), atol=1e-6)
    assert not torch.allclose(network(x, dt=torch.rand(2, 10) + 0.1), even, atol=1e-3)
    with pytest.raises(ValueError, match="learned_step=False"):
        FrontedSetting(model=Noisy(hidden=4)).build(1, 2)(x, dt=torch.ones(2, 10))


def test_senseless_front_ends_are_refused():
    with pytest.raises(ValueError, match="odd width"):
        FrontEnd(1, width=4)
    with pytest.raises(ValueError, match="takes"):
        FrontEnd(2)(torch.randn(1, 5, 3))
    with pytest.raises(ValueError, match="at least 2 classes"):
        FrontedClassifier(noisyrnn.LipschitzRNN(1, 2), 1)
