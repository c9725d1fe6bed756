"""What is read out: the last state, or a summary of the valid outputs, whatever stands in the padding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from noisyrnn import Classifier, LipschitzRNN, models, theory
from noisyrnn.rnn import Pooling
from noisyrnn.setting import canonical

LENGTHS = torch.tensor([4, 7, 1])


def by_hand(network: Classifier, x: Tensor) -> Tensor:
    """Logits of one sequence (time, inputs), from the layer's outputs."""
    outputs = network.layer(x.unsqueeze(0))[0][0]
    parts = [outputs.mean(0)] + ([outputs.max(0).values] if network.pooling is Pooling.MEAN_MAX else [])
    return network.readout(torch.cat(parts))


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.MEAN_MAX])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_padding_counts_for_nothing(pooling: Pooling, bidirectional: bool, batch_first: bool) -> None:
    torch.manual_seed(0)
    options = {"batch_first": batch_first, "bidirectional": bidirectional}
    network = Classifier(LipschitzRNN(2, 5, dt=0.5, **options), classes=3, pooling=pooling).eval()
    x = torch.randn(3, 7, 2)
    padded = x.clone()
    for sample, length in enumerate(LENGTHS.tolist()):
        padded[sample, length:] = torch.nan
    logits = network(padded, lengths=LENGTHS)
    network.layer.batch_first = True
    alone = torch.stack([by_hand(network, x[i, :n]) for i, n in enumerate(LENGTHS.tolist())])
    assert torch.allclose(logits, alone, atol=1e-6)


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.MEAN_MAX])
def test_gradients_flow_to_every_valid_step_and_to_no_other(pooling: Pooling) -> None:
    network = Classifier(LipschitzRNN(1, 4, dt=0.5), classes=2, pooling=pooling)
    x = torch.randn(3, 7, 1, requires_grad=True)
    network(x, lengths=LENGTHS).square().sum().backward()
    valid = torch.arange(7) < LENGTHS.unsqueeze(1)
    assert x.grad is not None
    assert torch.equal(x.grad.squeeze(-1) != 0, valid)


def test_an_empty_sequence_is_read_out_as_zeros() -> None:
    network = Classifier(LipschitzRNN(1, 4, dt=0.5), classes=2, pooling=Pooling.MEAN_MAX).eval()
    logits = network(torch.randn(2, 3, 1), lengths=torch.tensor([0, 3]))
    assert torch.equal(logits[0], network.readout.bias)


def test_a_setting_without_pooling_has_the_identity_that_it_had() -> None:
    assert "pooling" not in canonical(models.Lipschitz())
    network = models.Lipschitz(hidden=4, pooling=Pooling.MEAN).build(inputs=1, classes=2)
    assert network.pooling is Pooling.MEAN
    assert "pooling=mean" in repr(network)


def test_who_needs_the_last_state_refuses_another_readout() -> None:
    network = Classifier(LipschitzRNN(1, 4, dt=0.5), classes=2, pooling=Pooling.MEAN).eval()
    with pytest.raises(ValueError, match="last state"):
        theory.Network.of_classifier(network)
