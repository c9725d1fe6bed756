"""The network that the theorems speak of: made from a cell's parts, with any admissible step."""

import pytest
import torch

from noisyrnn.models.cornn import CoRNN
from noisyrnn.models.tanh import AntisymmetricRNN, LipschitzRNN, NoisyRNN
from noisyrnn.rnn.network import Classifier
from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    ConstantStep,
    DriftNoise,
    LearnedStep,
    StateStep,
    TanhDrift,
    heun,
    released,
)
from noisyrnn.theory import (
    Network,
    Released,
    adjoint_certificate,
    ball_certificate,
    explicit_loss,
    global_certificate,
    regulariser,
)


def drift():
    torch.manual_seed(0)
    return TanhDrift(A=-torch.eye(3), W=torch.nn.Parameter(torch.randn(3, 3)), U=torch.randn(3, 2), b=torch.zeros(3))


def test_a_cells_parts_make_the_same_network_and_can_be_trained_through():
    sde, readout = SDE(drift(), DriftNoise(0.1, 0.2)), torch.nn.Linear(3, 4)
    x = torch.randn(2, 5, 2)
    network = Network.of(sde, step=ConstantStep(0.3), readout=readout)
    h = torch.zeros(2, 3)
    for u in sde.drift.encode(x).unbind(1):
        h = h + 0.3 * sde.drift(h, u)
    assert torch.allclose(network.logits(x), readout(h), atol=1e-6)
    step = LearnedStep(3, 0.3, positive=True)
    learned = Network.of(sde, step=step, readout=readout)
    assert torch.allclose(learned.logits(x), readout(h), atol=1e-6)
    loss = explicit_loss(learned, x, learned.cross_entropy(torch.tensor([0, 3])), generator=torch.Generator())
    loss.mean().backward()
    for parameter in (sde.drift.W, step.dt, readout.weight):
        assert parameter.grad.abs().sum() > 0


@pytest.mark.parametrize("layer", [NoisyRNN, LipschitzRNN, AntisymmetricRNN])
def test_a_built_layer_is_certified_and_regularised(layer):
    torch.manual_seed(1)
    model = Classifier(layer(1, 6, dt=0.2), classes=3).eval()
    x = torch.randn(4, 7, 1)
    network = Network.of_classifier(model)
    assert torch.allclose(network.logits(x), model(x), atol=1e-6)
    y = model(x).argmax(-1)
    result = regulariser(network, x, network.cross_entropy(y))
    assert torch.isfinite(result.total).all()
    for certificate in (global_certificate, ball_certificate, adjoint_certificate):
        assert bool((certificate(network, x, y).radius > 0).all())


def test_layers_that_the_theorems_do_not_cover_are_refused():
    two = Classifier(LipschitzRNN(1, 4, num_layers=2), classes=2)
    with pytest.raises(ValueError, match="one layer of an SDE cell"):
        Network.of_classifier(two)
    with pytest.raises(ValueError, match="one layer of an SDE cell"):
        Network.of_classifier(Classifier(CoRNN(1, 4), classes=2))
    with pytest.raises(ValueError, match="substeps=2"):
        Network.of_classifier(Classifier(LipschitzRNN(1, 4, substeps=2), classes=2))


def test_the_released_scheme_is_recognised():
    network = Network.of(
        SDE(drift(), AdditiveNoise(0.1)), step=LearnedStep(3, 0.3, positive=False), scheme=released(0.5)
    )
    assert network.released == Released(multiplicative=0.5)
    centred = network.centred()
    assert torch.allclose(centred.dt, network.dt * 0.75)
    assert centred.released.multiplicative == pytest.approx(0.5 / 0.75)
    assert centred.centred() is centred


def test_what_the_theorems_are_not_about_is_refused():
    sde = SDE(drift(), DriftNoise(0.1, 0.2))
    with pytest.raises(ValueError, match="noise_laplacian"):
        Network.of(sde, step=0.1, scheme=heun)
    with pytest.raises(ValueError, match="StateStep"):
        Network.of(sde, step=StateStep(lambda h, f: h[..., :1]))
    with pytest.raises(ValueError, match=r"1 of 3 steps at or below 0, the smallest -0\.1;"):
        Network(drift=drift(), dt=torch.tensor([0.2, -0.1, 0.3]), diffusion=AdditiveNoise(0.1))
    with pytest.raises(ValueError, match="constant s"):
        Network(drift=drift(), dt=0.1, diffusion=DriftNoise(0.1, 0.1), released=Released(multiplicative=0.1))
    with pytest.raises(ValueError, match="no readout"):
        Network(drift=drift(), dt=0.1).logits(torch.zeros(1, 2, 2))
    with pytest.raises(ValueError, match=r"as a column, \(time, 1\)"):
        Network(drift=drift(), dt=torch.full((5,), 0.1), V=torch.eye(3)).logits(torch.zeros(1, 5, 2))
    network = Network(drift=drift(), dt=0.1, V=torch.eye(3))
    with pytest.raises(ValueError, match="length 0"):
        regulariser(network, torch.zeros(1, 0, 2), network.cross_entropy(torch.tensor([0])))
    with pytest.raises(ValueError, match=r"0 \.\. 2"):
        Network(drift=drift(), dt=0.1, V=torch.eye(3)).cross_entropy(torch.tensor([3]))
