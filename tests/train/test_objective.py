"""What a batch asks for: mixtures are what they say at every depth, and expected losses what noise does on average."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from noisyrnn.data import Split
from noisyrnn.models import Convention, CoRNNSetting, Lipschitz, Noisy
from noisyrnn.rnn import Pooling
from noisyrnn.train import ExpectedLoss, FeatureMixup, Train, fit, fresh
from noisyrnn.train.objective import Depth, expected, mixed
from noisyrnn.train.objective import plain as unmixed

PLAIN = {"additive": 0.0, "multiplicative": 0.0}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def case(setting=None) -> tuple[torch.nn.Module, Split]:
    network = fresh(setting or Lipschitz(hidden=5, dt=0.3), inputs=2, classes=3, seed=0)
    return network.double(), Split(x=torch.randn(6, 9, 2, generator=seeded(1)).double(), y=torch.arange(6) % 3)


def drawn(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Generator]:
    """Share and order that a batch gets, and the generator after them."""
    chance = seeded(seed)
    torch.randint(1, (), generator=chance)
    return torch.rand((), generator=chance).double(), torch.randperm(6, generator=chance), chance


def asked(network, split, mixup, seed=3):
    return mixed(network, split.x, split, mixup, None, hidden=seeded(9), chance=seeded(seed))


def both_classes(logits, split, share, order):
    return share * cross_entropy(logits, split.y) + (1 - share) * cross_entropy(logits, split.y[order])


def test_mixture_of_inputs_and_of_features_are_the_textbooks():
    network, split = case()
    share, order, _ = drawn(3)
    found = asked(network, split, FeatureMixup(depths=(Depth.INPUT,), **PLAIN))
    logits = network(share * split.x + (1 - share) * split.x[order])
    torch.testing.assert_close(found.loss, both_classes(logits, split, share, order))
    found = asked(network, split, FeatureMixup(depths=(Depth.FEATURES,), **PLAIN))
    features = network.features(split.x)
    logits = network.readout(share * features + (1 - share) * features[order])
    torch.testing.assert_close(found.loss, both_classes(logits, split, share, order))


@pytest.mark.parametrize("setting", [Lipschitz(hidden=5, dt=0.3), CoRNNSetting(hidden=5, dt=0.3)])
def test_mixture_on_the_way_mixes_states_and_what_is_left_to_read(setting):
    network, split = case(setting)
    share, order, chance = drawn(3)
    at = int(torch.randint(1, 9, (), generator=chance))
    found = asked(network, split, FeatureMixup(depths=(Depth.STATE,), **PLAIN))
    cell = network.layer.cells[0].built(noisy=False)
    states = cell.start(6, split.x)
    for t in range(9):
        x = split.x[:, t] if t < at else share * split.x[:, t] + (1 - share) * split.x[order, t]
        if t == at:
            states = tuple(share * state + (1 - share) * state[order] for state in states)
        states = cell.step(states, cell.encode(x), None, None, None)
    torch.testing.assert_close(found.logits, network.readout(cell.observe(states)))
    torch.testing.assert_close(found.loss, both_classes(found.logits, split, share, order))


def test_disturbance_of_a_mixture_has_the_authors_law():
    x, share, order = torch.zeros(1, 40_000, 1), torch.tensor(0.5), torch.zeros(1, dtype=torch.int64)
    spreads = torch.stack([FeatureMixup().mixed(x, share, order, seeded(seed)).std() for seed in range(200)]) / 0.4
    assert abs(float(spreads.mean()) - 2 / 7) < 0.03  # of Beta(2, 5)
    assert abs(float(spreads.var()) - 10 / 392) < 0.008
    factors = FeatureMixup(additive=0).mixed(torch.ones(1, 40_000, 1), share, order, seeded())
    assert 0.8 <= float(factors.min()) < 0.999
    assert 1.001 < float(factors.max()) <= 1.2


@pytest.mark.parametrize("convention", list(Convention))
def test_expected_loss_is_the_mean_loss_under_the_networks_own_noise(convention):
    strength = {"additive": 0.15 if convention is Convention.ITO else 0.07, "multiplicative": 0.1}
    network, split = case(Noisy(hidden=5, dt=0.2, convention=convention, learned_step=False, **strength))
    with torch.no_grad():
        network.readout.weight.mul_(4)
        many = Split(x=split.x.repeat(2500, 1, 1), y=split.y.repeat(2500))
        noisy = unmixed(network(many.x, noise=True, generator=seeded()), many.y, None).loss
        sound = unmixed(network(split.x, noise=False), split.y, None).loss
    rule = ExpectedLoss(probes=300)
    found = expected(network, split.x, split.y, rule, None, seeded()).loss
    assert abs(found - noisy) < 0.25 * abs(noisy - sound)
    found.backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in network.parameters())


def test_class_weights_weigh_the_expected_loss():
    network, split = case(Noisy(hidden=5, dt=0.2))
    weights = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    of_class = split.y == 0
    found = expected(network, split.x, split.y, ExpectedLoss(epsilon=0), weights, seeded()).loss
    network.layer.cells[0].length.dt.data.mul_(0.99)  # the mean of the released noise
    torch.testing.assert_close(found, cross_entropy(network(split.x[of_class], noise=False), split.y[of_class]))


@pytest.mark.parametrize("how", [{"mixup": FeatureMixup()}, {"expected_loss": ExpectedLoss()}], ids=str)
def test_training_goes_on_bit_by_bit_and_learns(tmp_path, how):
    y = torch.arange(40) % 2
    split = Split(x=(2.0 * y - 1)[:, None, None] + 0.3 * torch.randn(40, 6, 1, generator=seeded()), y=y)
    setting = Noisy(hidden=6, dt=0.3)

    def trained(*lasts: int):
        network = fresh(setting, inputs=1, classes=2, seed=1)
        for epochs in lasts:
            network = fresh(setting, inputs=1, classes=2, seed=1)
            path = tmp_path / f"{len(lasts)}.safetensors"
            train = Train(lr=0.02, batch=8, epochs=epochs, **how)
            history = fit(network, split, train, seed=1, setting=setting, path=path)
        return network, history

    whole, history = trained(12)
    parts, _ = trained(5, 12)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), parts.parameters(), strict=True))
    assert history[-1].loss < history[0].loss
    assert float((whole(split.x).argmax(1) == y).float().mean()) > 0.9


def test_what_cannot_be_asked_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="alternatives"):
        Train(mixup=FeatureMixup(), dropout=0.1)
    network, split = case(Lipschitz(hidden=5, bidirectional=True))
    with pytest.raises(ValueError, match="set mixup depths to input and features"):
        fit(network, split, Train(epochs=1, mixup=FeatureMixup()), seed=0)
    network, split = case(Lipschitz(hidden=5, pooling=Pooling.MEAN))
    with pytest.raises(ValueError, match="set mixup depths to input and features"):
        fit(network, split, Train(epochs=1, mixup=FeatureMixup()), seed=0)
    with pytest.raises(ValueError, match="readout of the last state"):
        fit(network, split, Train(epochs=1, expected_loss=ExpectedLoss()), seed=0)
    network, split = case()
    unequal = Split(x=split.x, y=split.y, lengths=torch.full((6,), 9))
    with pytest.raises(ValueError, match="as features only"):
        fit(network, unequal, Train(epochs=1, mixup=FeatureMixup()), seed=0)
    with pytest.raises(ValueError, match="equal length"):
        fit(network, unequal, Train(epochs=1, expected_loss=ExpectedLoss()), seed=0)
