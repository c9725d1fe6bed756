"""A training that goes nowhere says so, with the likely remedy; one that goes somewhere is silent."""

from __future__ import annotations

import warnings

import pytest
import torch

from noisyrnn.data import Split
from noisyrnn.models import Lipschitz, Noisy
from noisyrnn.train import Train, Unlearned, fit, fresh, remark


def waves(count: int = 120, *, centre: float = 0.0, spread: float = 1.0) -> Split:
    """Two classes of noisy sines, one twice as fast, in the units asked for."""
    dice = torch.Generator().manual_seed(0)
    y, t = torch.arange(count) % 2, torch.linspace(0, 6.3, 20)
    x = torch.sin(t * (1 + y.unsqueeze(1))) + 0.2 * torch.randn(count, 20, generator=dice)
    return Split(x=(centre + spread * x).unsqueeze(2), y=y)


def trained(split: Split, model: Lipschitz | Noisy, train: Train) -> list[str]:
    network = fresh(model, inputs=1, classes=2, seed=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit(network, split, train, seed=0)
    return [str(one.message) for one in said if one.category is Unlearned]


QUICK = Train(epochs=8, batch=20, lr=1e-2)


def test_a_training_that_learns_is_silent() -> None:
    assert trained(waves(), Lipschitz(hidden=16, dt=0.3), QUICK) == []


def test_inputs_in_natural_units_are_named_as_the_reason() -> None:
    [said] = trained(waves(centre=2000, spread=300), Lipschitz(hidden=16, dt=0.3), QUICK)
    assert "inputs have mean 2" in said
    assert "scale them to mean 0 and spread 1" in said


def test_noise_that_drowns_the_signal_is_named() -> None:
    [said] = trained(waves(), Noisy(hidden=16, dt=0.3, additive=30.0), QUICK)
    assert "chance" in said
    assert "less noise" in said


def test_two_epochs_are_too_early_to_judge() -> None:
    assert trained(waves(centre=2000, spread=300), Lipschitz(hidden=16), QUICK.shortened(2)) == []


@pytest.mark.parametrize(("loss", "accuracy", "weights", "stuck"), [
    (0.69, 50.0, None, True),
    (0.69, 90.0, None, False),  # right but shy
    (0.30, 50.0, None, False),  # its loss has fallen: something was learned
    (0.69, 90.0, (1.0, 1.0), True),  # with weights, accuracy says little
    (0.30, 50.0, (1.0, 1.0), False),
])  # fmt: skip
def test_chance_is_a_matter_of_loss_and_accuracy(
    loss: float, accuracy: float, weights: tuple[float, float] | None, stuck: bool
) -> None:
    network = fresh(Lipschitz(hidden=4), inputs=1, classes=2, seed=0)
    said = remark(network, waves(), loss=loss, accuracy=accuracy, weights=weights)
    assert (said is not None) == stuck


def test_one_class_cannot_be_missed() -> None:
    network = fresh(Lipschitz(hidden=4), inputs=1, classes=2, seed=0)
    split = Split(x=torch.randn(10, 5, 1), y=torch.zeros(10, dtype=torch.long))
    assert remark(network, split, loss=0.0, accuracy=100.0) is None


def test_saturated_units_are_told_even_where_something_was_learned() -> None:
    network = fresh(Lipschitz(hidden=4), inputs=1, classes=2, seed=0)
    cell = network.layer.cells[0]
    with torch.no_grad():
        cell.sde.drift.input.weight.fill_(200.0)
        cell.sde.drift.input.bias.fill_(1000.0)
    said = remark(network, waves(), loss=0.1, accuracy=99.0)
    assert said is not None
    assert "saturated" in said
    assert "lr" in said
