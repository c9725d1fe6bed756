"""One cycle of steps: it learns, it repeats itself, weights count, and steps out of the finite numbers are left out."""

import pytest
import torch
from torch import nn

from noisyrnn.models import Lipschitz
from noisyrnn.train import Diverged, GuardedStep, OneCycle, Samples, fit_one_cycle, fresh
from noisyrnn.train.guard import PATIENCE


def samples(count=16):
    y = torch.arange(count) % 2
    x = (y * 2.0 - 1).reshape(-1, 1, 1) + 0.3 * torch.randn(count, 6, 1, generator=torch.Generator().manual_seed(0))
    return Samples(x=x, y=y)


def network():
    return fresh(Lipschitz(hidden=8, dt=0.5), inputs=1, classes=2, seed=0)


def test_it_learns_and_two_trainings_are_one():
    setting, found = OneCycle(steps=30, batch=8, lr=0.05), []
    for _ in range(2):
        one = network()
        assert fit_one_cycle(one, samples(), setting, seed=1) == 0
        assert not one.training
        found.append(one(samples().x))
    assert torch.equal(*found)
    assert (found[0].argmax(1) == samples().y).double().mean() > 0.9


def test_epochs_are_told_also_where_a_batch_is_larger_than_the_set():
    told = []
    fit_one_cycle(network(), samples(4), OneCycle(steps=5, batch=8), seed=0, end_of_epoch=lambda at: told.append(at))
    assert [(at.epoch, at.steps) for at in told] == [(1, 1), (3, 2), (5, 3), (7, 4), (9, 5)]
    told.clear()
    fit_one_cycle(network(), samples(10), OneCycle(steps=4, batch=4), seed=0, end_of_epoch=lambda at: told.append(at))
    assert [(at.epoch, at.steps) for at in told] == [(1, 3), (2, 4)]


def test_a_callback_can_end_it():
    told = []
    fit_one_cycle(
        network(), samples(), OneCycle(steps=50, batch=8), seed=0, end_of_epoch=lambda at: not told.append(at)
    )
    assert len(told) == 1


def test_samples_without_weight_are_not_learned():
    wrong = samples()
    weights = (wrong.y == 0).float() * 2
    one = network()
    weighted = Samples(x=wrong.x, y=wrong.y, weights=weights)
    fit_one_cycle(one, weighted, OneCycle(steps=30, batch=8, lr=0.05), seed=1)
    assert (one(wrong.x).argmax(1) == 0).all()


def test_steps_out_of_the_finite_numbers_are_left_out_and_too_many_end_it():
    weight = nn.Parameter(torch.ones(2))
    step = GuardedStep(torch.optim.SGD([weight], lr=0.1), [weight])
    assert not step((weight * torch.inf).sum())
    assert torch.equal(weight, torch.ones(2))
    assert step(weight.sum())
    for _ in range(PATIENCE - 1):
        assert not step(weight.sum() * torch.nan)
    with pytest.raises(Diverged, match="in a row"):
        step(weight.sum() * torch.nan)


def test_a_training_that_learned_nothing_is_tried_once_more_at_a_third_of_the_rate():
    told = []
    aimless = Samples(x=torch.zeros(8, 3, 1), y=torch.arange(8) % 2)
    fit_one_cycle(
        network(), aimless, OneCycle(steps=3, batch=8), seed=0, end_of_epoch=lambda at: told.append(at.epoch), classes=2
    )
    assert told == [1, 2, 3, 1, 2, 3]
