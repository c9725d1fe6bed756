"""Certificates by gain: never beyond an attack, tight where they can be, and silent about everything else."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from noisyrnn.attack import PGD, Loss
from noisyrnn.data import Split
from noisyrnn.evaluate import Proof, accuracy, attacked_radius
from noisyrnn.models import Certified, ClassicRNNSetting, Contraction, Lipschitz, Noisy
from noisyrnn.rnn import Classifier, NoGain, Pooling
from noisyrnn.setting import Norm
from noisyrnn.theory import Network, gain_certificate
from noisyrnn.train import Margin, Train, fit, fresh

ATTACK = PGD(radius=1.0, norm=Norm.L2, steps=8, restarts=2, loss=Loss.EXCESS)


def shaken(network: Classifier, seed: int, size: float = 0.3) -> Classifier:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return network.eval()


def attacked(network: Classifier, x: torch.Tensor, label: torch.Tensor, seed: int = 0) -> torch.Tensor:
    exact = copy.deepcopy(network).double()
    generator = torch.Generator().manual_seed(seed)
    return attacked_radius(exact, x.double(), label, generator=generator, attack=ATTACK, rounds=3)


@settings(max_examples=5, deadline=None)
@given(
    inputs=st.integers(1, 3), layers=st.integers(1, 2), bidirectional=st.booleans(), steps=st.integers(1, 12),
    gain=st.floats(0.3, 4.0), classes=st.integers(2, 4), pooling=st.sampled_from([Pooling.MEAN, Pooling.LAST]),
    activation=st.sampled_from([Contraction.MAXMIN, Contraction.MAXMIN, Contraction.RELU]), seed=st.integers(0, 10_000),
)  # fmt: skip
def test_no_attack_succeeds_within_a_certified_radius(
    inputs, layers, bidirectional, steps, gain, classes, pooling, activation, seed
):
    torch.manual_seed(seed)
    setting = Certified(
        hidden=6, outputs=4, num_layers=layers, bidirectional=bidirectional, gain=gain, pooling=pooling,
        activation=activation, temperature=3.0,
    )  # fmt: skip
    network = shaken(setting.build(inputs, classes), seed)
    x = torch.randn(6, steps, inputs)
    found = gain_certificate(network, x)
    assert (found.radius <= attacked(network, x, found.label, seed)).all()
    assert (found.single <= found.radius * (1 + 1e-4) + 1e-6).all()


@pytest.fixture(scope="module")
def trained() -> tuple[Classifier, Split]:
    """A trained network: slow waves against fast ones, with a hinge on the radius."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(96) % 2
    phase = 6.3 * torch.rand(96, 1, generator=generator)
    waves = torch.sin(torch.arange(16) * (0.4 + 0.8 * y.unsqueeze(1)) + phase).unsqueeze(-1)
    split = Split(x=waves + 0.1 * torch.randn(waves.shape, generator=generator), y=y)
    network = fresh(Certified(hidden=8, outputs=8, temperature=20.0), inputs=1, classes=2, seed=0)
    train = Train(lr=2e-2, batch=32, epochs=15, clip=1.0, one_cycle=True, margin=Margin(rms=0.2, weight=0.5))
    fit(network, split, train, seed=0)
    return network, split


def test_trained_networks_are_certified_and_attacks_stay_outside(trained):
    network, split = trained
    x, y = split.x[:40], split.y[:40]
    found = gain_certificate(network, x)
    assert float((found.label == y).double().mean()) > 0.9
    assert (found.radius > 0).all()
    nearest = attacked(network, x, found.label)
    assert (found.radius <= nearest).all()
    reached = nearest.isfinite()
    # Attacks come within a few times the radius: the certificate is not idle.
    assert float((found.radius[reached] / nearest[reached]).median()) > 0.2


def test_certified_accuracy_is_a_measure(trained):
    network, split = trained
    found = gain_certificate(network, split.x)
    middle = float(found.rms.median())
    by_measure = accuracy(network, split, Proof(radius=middle))
    assert by_measure == pytest.approx(100 * found.certified_accuracy(split.y, middle))
    assert 0 < by_measure < accuracy(network, split)
    whole = Proof(radius=float(found.radius.median()), whole=True)
    assert accuracy(network, split, whole) == pytest.approx(by_measure)


def test_at_one_step_the_radius_itself_is_reached():
    # Two classes, no activation: the map is linear, and the worst direction is known.
    torch.manual_seed(1)
    setting = Certified(hidden=3, outputs=5, activation=Contraction.IDENTITY, gain=2.0, temperature=1.0)
    network = setting.build(5, 2).double().eval()
    x = torch.randn(1, 1, 5, dtype=torch.float64)
    found = gain_certificate(network, x)
    network.requires_grad_(False)
    x.requires_grad_(True)
    logits = network(x)
    a = int(found.label)
    (slope,) = torch.autograd.grad(logits[0, 1 - a] - logits[0, a], x)
    distance = float((logits[0, a] - logits[0, 1 - a]).detach() / slope.norm())
    # K has more columns than rows here for some directions; the radius is reached where w lies in y's image.
    assert float(found.radius) <= distance * (1 + 1e-6)
    K = network.layer.cells[0].matrix()[3:, 3:]
    lost = float((K.mT @ (network.readout.weight[a] - network.readout.weight[1 - a])).norm())
    whole = float((network.readout.weight[a] - network.readout.weight[1 - a]).norm())
    assert float(found.radius) == pytest.approx(distance * lost / whole, rel=1e-5)


def test_the_radius_is_reached_where_nothing_is_lost():
    # One state that the input does not meet: y_t is a rotation of u_t, and the bound is an equality.
    torch.manual_seed(2)
    setting = Certified(hidden=1, outputs=3, activation=Contraction.IDENTITY, gain=1.5, temperature=1.0)
    network = setting.build(3, 2).double().eval()
    with torch.no_grad():
        network.layer.cells[0].orthogonal.base.copy_(torch.eye(4))
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    found = gain_certificate(network, x)
    W = network.readout.weight.detach()
    towards = W[1 - found.label] - W[found.label]
    direction = (towards / towards.norm(dim=1, keepdim=True)).unsqueeze(1).expand_as(x) / 6**0.5
    for share, same in ((1 - 1e-6, True), (1 + 1e-6, False)):
        moved = network(x + share * found.radius.reshape(-1, 1, 1) * direction).argmax(1)
        assert ((moved == found.label) == same).all()


def test_radii_in_other_norms_follow_from_the_l2_radius():
    torch.manual_seed(0)
    network = shaken(Certified(hidden=6, outputs=4, temperature=3.0).build(3, 3), 1)
    x, lengths = torch.randn(5, 16, 3), torch.tensor([16, 9, 4, 1, 0])
    found = gain_certificate(network, x, lengths=lengths)
    steps = lengths.double().clamp(min=1)
    assert torch.allclose(found.rms, found.radius / steps.sqrt())
    assert torch.allclose(found.linf, found.rms / 3**0.5)
    assert torch.allclose(found.channel[:, 0], found.rms)
    assert torch.allclose(found.within_steps(4), found.linf * (steps / 4).clamp(min=1).sqrt())
    assert found.radius[-1] == 0
    bounds = torch.full((3,), float(found.linf[0]) * 0.999)
    assert found.holds_for(bounds)[0]
    assert not found.holds_for(bounds * 1.01)[0]
    scaled = gain_certificate(network, x, lengths=lengths, scale=torch.tensor([2.0, 2.0, 2.0]))
    assert torch.allclose(scaled.radius, 2 * found.radius)
    alone = gain_certificate(network, x[1:2, :9])
    assert torch.allclose(alone.radius, found.radius[1:2])


def test_disturbed_channels_and_steps_within_their_bounds_change_nothing():
    torch.manual_seed(3)
    setting = Certified(hidden=6, outputs=4, temperature=3.0)
    network = shaken(setting.build(2, 3), 3).double()
    x = torch.randn(4, 12, 2, dtype=torch.float64)
    found = gain_certificate(network, x)
    for seed in range(50):
        generator = torch.Generator().manual_seed(seed)
        signs = torch.randint(0, 2, x.shape, generator=generator).double() * 2 - 1
        one = signs.clone()
        one[..., 1] = 0
        few = signs * (torch.randperm(12, generator=generator) < 3).reshape(1, -1, 1)
        for moved, size in ((signs, found.linf), (one, found.channel[:, 0]), (few, found.within_steps(3))):
            assert torch.equal(network(x + size.reshape(-1, 1, 1) * moved).argmax(1), found.label)


def test_an_edited_weight_makes_the_certificate_smaller_not_wrong():
    torch.manual_seed(0)
    network = shaken(Certified(hidden=6, outputs=4, temperature=3.0).build(1, 3), 0)
    x = torch.randn(8, 10, 1)
    before = gain_certificate(network, x)
    with torch.no_grad():
        network.layer.cells[0].orthogonal.base.mul_(1.1)
    after = gain_certificate(network, x)
    assert network.layer.gain().growth == pytest.approx(1.1, rel=1e-5)
    assert after.radius.max() < before.radius.max()
    assert (after.radius <= attacked(network, x, after.label)).all()


class Normalised(nn.Module):
    """A layer with a normalisation behind it, as somebody might insert."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer, self.norm, self.batch_first = layer, nn.LayerNorm(layer.output_size), True
        self.output_size = layer.output_size

    def forward(self, x, **call):
        outputs, states = self.layer(x, **call)
        return self.norm(outputs), states

    def last(self, h_n):
        return self.layer.last(h_n)


def test_whatever_breaks_the_construction_is_refused_with_its_reason():
    x = torch.randn(2, 5, 1)

    def own() -> Classifier:
        return Certified(hidden=6, outputs=4).build(1, 3).eval()

    with_norm = Classifier(Normalised(own().layer), 3, pooling=Pooling.MEAN)
    hooked = own()
    hooked.layer.cells[0].orthogonal.register_forward_hook(lambda module, given_, out: 2 * out)
    other = own()
    other.readout = nn.Sequential(nn.Linear(4, 3))
    cases = [
        (with_norm, "Normalised"), (hooked, "hook"), (other, "linear readout"),
        (Lipschitz(hidden=4, pooling=Pooling.MEAN).build(1, 3), "SDECell"),
        (Noisy(hidden=4, pooling=Pooling.MEAN).build(1, 3), "SDECell"),
        (ClassicRNNSetting(hidden=4).build(1, 3), "ClassicRNN"),
        (Certified(hidden=6, outputs=4, pooling=Pooling.MEAN_MAX).build(1, 3), "largest"),
    ]  # fmt: skip
    for network, reason in cases:
        with pytest.raises(NoGain, match=reason):
            gain_certificate(network, x)


def test_what_is_about_a_last_state_refuses_a_mean():
    with pytest.raises(ValueError, match="mean"):
        Network.of_classifier(Certified(hidden=6, outputs=4).build(1, 3))
    with pytest.raises(NoGain, match="SDECell"):
        fit(
            fresh(Lipschitz(hidden=4, pooling=Pooling.MEAN), inputs=1, classes=2, seed=0),
            Split(x=torch.randn(4, 5, 1), y=torch.arange(4) % 2), Train(epochs=1, margin=Margin()), seed=0,
        )  # fmt: skip
