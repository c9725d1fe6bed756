"""Classifiers: last valid state, Monte-Carlo prediction, own cells in ten lines."""

import pytest
import torch

import noisyrnn
from noisyrnn.models import ClassicRNNSetting, CoRNNSetting, Lipschitz
from noisyrnn.sde import AdditiveNoise, Drift


@pytest.mark.parametrize(
    "setting", [Lipschitz(hidden=4), CoRNNSetting(hidden=4), ClassicRNNSetting(hidden=4, bidirectional=True)]
)
def test_logits_read_the_last_valid_state(setting):
    network = setting.build(inputs=1, classes=3).eval()
    x, lengths = torch.randn(4, 6, 1), torch.tensor([6, 1, 3, 5])
    logits = network(x, lengths=lengths)
    for row, length in enumerate(lengths):
        assert torch.allclose(network(x[row : row + 1, :length])[0], logits[row], atol=1e-6)


@pytest.mark.parametrize("batch_first", [False, True])
def test_axes_of_the_layer_do_not_matter(batch_first):
    torch.manual_seed(0)
    network = noisyrnn.Classifier(noisyrnn.LipschitzRNN(2, 4, batch_first=batch_first), classes=3)
    x, dt = torch.randn(5, 7, 2), torch.rand(5, 7) + 0.1
    _, h_n = network.layer(x if batch_first else x.transpose(0, 1), dt=dt if batch_first else dt.T)
    assert torch.allclose(network(x, dt=dt), network.readout(h_n[-1]), atol=1e-6)


def test_monte_carlo_prediction_is_the_mean_of_noisy_passes():
    network = noisyrnn.Classifier(noisyrnn.NoisyRNN(1, 4, additive=0.5), classes=2).eval()
    x = torch.randn(3, 5, 1)
    mean = network.probabilities(x, draws=4, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        passes = [network(x, noise=True, generator=generator).softmax(-1) for _ in range(4)]
    assert torch.allclose(mean, torch.stack(passes).mean(0))
    assert not torch.equal(passes[0], passes[1])
    assert torch.equal(network.probabilities(x), network(x).softmax(-1))


def test_wrong_use_gets_one_clear_sentence():
    with pytest.raises(ValueError, match="at least 2 classes"):
        noisyrnn.Classifier(noisyrnn.LipschitzRNN(1, 4), classes=1)
    with pytest.raises(ValueError, match=r"takes \(batch, time, inputs\)"):
        noisyrnn.Classifier(noisyrnn.LipschitzRNN(1, 4), classes=2)(torch.zeros(3, 4))


def test_own_drift_learns_in_a_layer():
    class Oscillator(Drift):
        def __init__(self):
            super().__init__(units=2)
            self.omega = torch.nn.Parameter(torch.tensor(1.0))

        def forward(self, h, u):
            return torch.stack((h[..., 1], -self.omega * h[..., 0]), dim=-1) + u

    layer = noisyrnn.Layer(noisyrnn.SDECell(Oscillator(), AdditiveNoise(0.01), dt=0.1))
    _, h_n = layer(torch.ones(20, 4, 2))
    h_n.square().sum().backward()
    assert layer.cells[0].sde.drift.omega.grad.abs() > 0
