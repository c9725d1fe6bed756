"""On a linear network every attack reaches the known distance: |excess| over the dual norm of its gradient."""

import pytest
import torch
from torch import Tensor
from victims import FEATURES, TIME, seeded, z_scored

from noisyrnn.attack import APGD, FGSM, PGD, Attack, Features, Loss, Norm, Schedule, Square, standard

WEIGHTS = torch.randn(TIME * FEATURES, 2, generator=seeded(2), dtype=torch.float64)


def linear(x: Tensor) -> Tensor:
    return x.flatten(1) @ WEIGHTS


@pytest.fixture(params=list(Norm))
def ball(request) -> tuple[Norm, Tensor, Tensor]:
    """A norm, and samples whose nearest wrong answer has the distance 1 in it."""
    normal = WEIGHTS[:, 1] - WEIGHTS[:, 0]
    dual = normal.abs().sum() if request.param is Norm.LINF else normal.norm()
    x = z_scored(24, seed=3).double()
    logits = linear(x)
    # Without a bias, distances scale with x.
    x = x * (dual / (logits[:, 1] - logits[:, 0]).abs())[:, None, None]
    return request.param, x, logits.argmax(1)


def fallen(attack: Attack, x: Tensor, y: Tensor) -> float:
    return float((linear(attack(linear, x, y, seeded(1))).argmax(1) != y).double().mean())


CLIMBS = {
    "pgd falling": lambda norm: PGD(radius=1, norm=norm, schedule=Schedule.FALLING),
    "pgd excess": lambda norm: PGD(radius=1, norm=norm, step=1.0, loss=Loss.EXCESS),
    "apgd": lambda norm: APGD(radius=1, norm=norm, steps=30),
    "apgd dlr": lambda norm: APGD(radius=1, norm=norm, steps=30, loss=Loss.DLR),
    "apgd towards": lambda norm: APGD(radius=1, norm=norm, steps=30, loss=Loss.DLR, targets=3),
    "apgd from x": lambda norm: APGD(radius=1, norm=norm, steps=30, random_start=False),
    "union": lambda norm: standard(1.0, norm, steps=30, queries=10),
}


@pytest.mark.parametrize("name", CLIMBS)
def test_gradient_attacks_reach_the_distance_and_nobody_errs_within_it(ball, name):
    norm, x, y = ball
    attack = CLIMBS[name](norm)
    low, high = 0.5, 1.5
    while high - low > 1e-4:
        middle = (low + high) / 2
        shares = fallen(attack.at(middle), x, y)
        assert shares in (0.0, 1.0) or abs(middle - 1) < 1e-3
        low, high = (low, middle) if shares == 1 else (middle, high)
    assert high == pytest.approx(1, abs=1e-3)
    assert fallen(attack.at(1 - 1e-9), x, y) == 0


def test_one_step_is_enough_for_the_largest_coordinate():
    x = z_scored(5).double()
    y = linear(x).argmax(1)
    gap = (WEIGHTS[:, 1] - WEIGHTS[:, 0]).abs().sum()
    radius = float((linear(x)[:, 1] - linear(x)[:, 0]).abs().max() / gap)
    assert fallen(FGSM(radius=radius * 1.0001), x, y) == 1


@pytest.mark.parametrize("features", list(Features))
def test_square_comes_within_a_tenth(ball, features):
    norm, x, y = ball
    attack = Square(radius=1.1, norm=norm, queries=600, features=features)
    assert fallen(attack, x, y) == 1
    assert fallen(attack.at(1 - 1e-9), x, y) == 0
