"""Evaluation: no noise, no gradients, the same draws for every model and every size of a batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from noisyrnn.attack import APGD, FGSM, PGD, Norm, Square, standard
from noisyrnn.data import Split
from noisyrnn.evaluate import Clean, accuracy, logits, name_of, predictions
from noisyrnn.models import ExpRNNSetting, Lipschitz, Noisy
from noisyrnn.perturb import Multiplicative, SaltAndPepper, White
from noisyrnn.randomness import stream
from noisyrnn.train import Train, fit, fresh


def split(samples: int = 30) -> Split:
    x = torch.randn(samples, 6, 1, generator=torch.Generator().manual_seed(0))
    return Split(x=x, y=(x.sum(dim=(1, 2)) > 0).long())


class Witness(nn.Module):
    """A network that remembers what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x.detach().clone())
        return torch.stack((x.sum(dim=(1, 2)), -x.sum(dim=(1, 2))), dim=1) + self.weight


@pytest.mark.parametrize("measure", [White(sigma=0.3), Multiplicative(sigma=0.5), SaltAndPepper(probability=0.2)])
def test_draws_do_not_depend_on_the_batch(measure) -> None:
    shown = []
    for batch in (30, 7):
        witness = Witness()
        accuracy(witness, split(), measure, stream("draws", 1), batch=batch)
        shown.append(torch.cat(witness.seen))
    assert torch.equal(*shown)
    assert not torch.equal(shown[0], split().x)


def test_accuracy_is_the_share_of_right_answers() -> None:
    network = Lipschitz(hidden=4).build(1, 2)
    data = split()
    right = (network.eval()(data.x).argmax(1) == data.y).double().mean()
    assert accuracy(network, data, batch=4) == pytest.approx(100 * float(right))
    assert accuracy(network, data, Clean()) == accuracy(network, data)
    assert accuracy(network, data, White(sigma=0.0), stream(0)) == accuracy(network, data)
    assert accuracy(network, data, FGSM(radius=0.0)) == accuracy(network, data)


def test_networks_are_measured_without_noise_and_keep_their_mode() -> None:
    network = Noisy(hidden=4, additive=1.0).build(1, 2).train()
    data = split()
    assert torch.equal(logits(network, data.x), logits(network, data.x))
    assert network.training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in network.parameters())
    rotating = ExpRNNSetting(hidden=4).build(1, 2).train()
    before = {name: tensor.clone() for name, tensor in rotating.state_dict().items()}
    accuracy(rotating, data, FGSM(radius=0.1))
    assert all(torch.equal(before[name], tensor) for name, tensor in rotating.state_dict().items())


def test_attacks_hurt_more_the_farther_they_reach_and_more_than_noise() -> None:
    network = fresh(Lipschitz(hidden=8, dt=0.1), inputs=1, classes=2, seed=0)
    data = split(200)
    fit(network, data, Train(epochs=15, batch=20, lr=0.02), seed=0)
    clean = accuracy(network, data)
    found = [accuracy(network, data, PGD(radius=r, steps=5), stream(0), batch=64) for r in (0.1, 0.3, 1.0)]
    assert clean > 90
    assert clean >= found[0] >= found[1] >= found[2]
    assert found[2] < accuracy(network, data, White(sigma=1.0), stream(0))


@pytest.mark.parametrize(
    "attack", [APGD(radius=0.4, steps=5), Square(radius=0.4, queries=20), standard(0.4, steps=4, queries=10)]
)
def test_every_attack_is_a_measure_whose_batch_changes_nothing(attack) -> None:
    network, data = fresh(Lipschitz(hidden=6, dt=0.1), inputs=1, classes=2, seed=0).double(), split(40)
    data = Split(x=data.x, y=predictions(network, data.x), lengths=torch.arange(40) % 6 + 1)
    data = Split(x=data.x, y=predictions(network, data.x, lengths=data.lengths), lengths=data.lengths)
    found = [accuracy(network, data, attack, stream(0), batch=batch) for batch in (40, 7)]
    assert found[0] == found[1] < 100


def test_addresses_of_streams_are_apart() -> None:
    draws = [float(torch.rand((), generator=stream(*address))) for address in (("a", 1), ("a", 2), ("b", 1), ("a1",))]
    assert len(set(draws)) == 4
    # Frozen: rows of earlier versions must stay comparable with new ones.
    assert stream("measure", 0).initial_seed() == 6742272369190846484


def test_names_are_those_of_the_tables() -> None:
    assert [name_of(m) for m in (Clean(), White(sigma=1), Multiplicative(sigma=1), SaltAndPepper(probability=1))] == [
        "clean",
        "white",
        "multiplicative",
        "salt-pepper",
    ]
    assert [name_of(FGSM(radius=1)), name_of(PGD(radius=1)), name_of(PGD(radius=1, bounds=(0, 1)))] == [
        "fgsm",
        "pgd",
        "pgd clipped",
    ]
    assert [name_of(m) for m in (APGD(radius=1), Square(radius=1, norm=Norm.L2), standard(1.0, bounds=(0.0, 1.0)))] == [
        "apgd",
        "square l2",
        "union clipped",
    ]


def test_refusals() -> None:
    network = Lipschitz(hidden=4).build(1, 2)
    bad = split().x
    bad[1, 2, 0] = torch.nan
    with pytest.raises(ValueError, match=r"x\[1, 2, 0\] is nan"):
        predictions(network, bad)
    with pytest.raises(ValueError, match="no samples"):
        logits(network, bad[:0])
    with pytest.raises(ValueError, match="give a generator"):
        accuracy(network, split(), White(sigma=1))
