"""An epoch of training gives the same weights, bit for bit, run after run and for any number of kernel threads."""

import pytest
import torch

from noisyrnn.data import Digits, load
from noisyrnn.models import CoRNNSetting, ExpRNNSetting, Noisy
from noisyrnn.rnn import native
from noisyrnn.train import Train, fit, fresh


def trained(model) -> list[torch.Tensor]:
    network = fresh(model, inputs=1, classes=10, seed=5)
    fit(network, load(Digits()).train, Train(epochs=1, batch=100, lr=0.01), seed=5)
    return [parameter.detach() for parameter in network.parameters()]


@pytest.mark.skipif(not native.available(), reason=native.status())
@pytest.mark.parametrize("name", ["noisy", "cornn", "exprnn"])
def test_epoch_is_bitwise_the_same_for_any_thread_count(name, monkeypatch):
    model = {"noisy": Noisy(hidden=33, dt=0.1), "cornn": CoRNNSetting(hidden=17), "exprnn": ExpRNNSetting(hidden=16)}[
        name
    ]
    first, again = trained(model), trained(model)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    monkeypatch.setenv("NOISYRNN_THREADS", "2")
    two = trained(model)
    assert all(torch.equal(a, b) for a, b in zip(first, two, strict=True))


@pytest.mark.parametrize("bad", ["0", "two", "-1"])
def test_impossible_thread_counts_are_refused(bad, monkeypatch):
    monkeypatch.setenv("NOISYRNN_THREADS", bad)
    with pytest.raises(ValueError, match="whole number from 1 to 1024"):
        native.threads()
