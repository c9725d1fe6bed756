"""Attacks find the worst case where it is known, and more work never makes them weaker."""

import pytest
import torch
from torch import Tensor
from victims import CLASSES, FEATURES, TIME, Recurrent, first_start, predicted, seeded, share, stands, z_scored

from noisyrnn.attack import PGD, Keep, Loss, Norm, Schedule, curve, excess


def test_on_a_linear_network_both_norms_find_the_known_worst_case():
    weights = torch.randn(TIME * FEATURES, 2, generator=seeded(2))
    x, y = z_scored(6), torch.tensor([0, 1, 0, 1, 0, 1])
    normal = (weights[:, 1] - weights[:, 0])[None] * torch.where(y == 0, 1.0, -1.0)[:, None]

    def linear(x: Tensor) -> Tensor:
        return x.flatten(1) @ weights

    before = excess(linear(x), y)
    # A linear excess grows by radius times the dual norm of its gradient, and by no more.
    for norm, dual in ((Norm.LINF, normal.abs().sum(1)), (Norm.L2, normal.norm(dim=1))):
        attack = PGD(radius=0.3, norm=norm, steps=40, step=0.3, loss=Loss.EXCESS)
        after = excess(linear(attack(linear, x, y, seeded())), y)
        torch.testing.assert_close(after - before, 0.3 * dual, atol=1e-4, rtol=1e-4)


def test_more_restarts_and_steps_never_help_the_network(network):
    x = z_scored(64)
    y = predicted(network, x)
    gains = [
        excess(network(PGD(radius=0.4, steps=steps, step=0.1, restarts=restarts)(network, x, y, seeded(9))), y)
        for steps, restarts in ((1, 1), (8, 1))
    ]
    assert bool((gains[1] >= gains[0] - 1e-6).all())
    one = PGD(radius=0.4, steps=3, restarts=1)(network, x[:1], y[:1], seeded(9))
    many = PGD(radius=0.4, steps=3, restarts=6)(network, x[:1], y[:1], seeded(9))
    assert float((excess(network(many), y[:1]) - excess(network(one), y[:1])).detach()) >= -1e-6


def test_the_worst_of_each_sample_is_at_least_as_bad_as_the_clean_and_the_last(network):
    x = z_scored(64)
    y = torch.randint(CLASSES, (64,), generator=seeded(4))
    jumpy = PGD(radius=0.5, steps=7, step=2.0)
    worst = excess(network(jumpy(network, x, y, seeded(1))), y)
    last = excess(network(jumpy.model_copy(update={"keep": Keep.LAST})(network, x, y, seeded(1))), y)
    assert bool((worst >= last - 1e-6).all())
    assert bool((worst > last + 1e-3).any())
    assert bool((worst >= excess(network(x), y) - 1e-6).all())


def test_published_starts_are_drawn_as_they_were():
    x = z_scored(3)
    u = torch.rand((3, 1 + TIME * FEATURES), generator=seeded(8), dtype=torch.float64)
    torch.testing.assert_close(first_start(PGD(radius=0.5), x, seeded(8)) - x, (u[:, 1:] - 0.5).float().view_as(x))


def test_falling_steps_begin_at_the_width_of_the_ball_and_end_near_nothing():
    seen: list[Tensor] = []

    def line(x: Tensor) -> Tensor:
        seen.append(x.detach().clone())
        return x[:, -1] * torch.tensor([1.0, -1.0])

    x, y = torch.zeros(1, 1, 2), torch.tensor([0])
    PGD(radius=1, steps=4, step=0.1, schedule=Schedule.FALLING, random_start=False)(line, x, y)
    moved = torch.stack(seen[1:]).flatten(1)[:, 0].diff().abs()
    torch.testing.assert_close(moved, torch.tensor([0.1, 0.075, 0.05, 0.025]))
    assert [PGD(radius=3, steps=4, schedule=Schedule.FALLING)._step(number) for number in (0, 2)] == [6.0, 3.0]


def test_falling_steps_are_stronger_than_constant_ones():
    network = Recurrent(scale=1.5).eval()
    x = z_scored(400)
    y = predicted(network, x)
    left = [share(stands(network, PGD(radius=0.35, schedule=schedule), x, y)) for schedule in Schedule]
    assert left[1] < left[0]


def test_targeted_attacks_reach_their_target(network):
    x = z_scored(40)
    target = (predicted(network, x) + 1) % CLASSES
    before = float((predicted(network, x) == target).float().mean())
    found = PGD(radius=1.5, targeted=True)(network, x, target, seeded())
    assert before == 0.0
    assert float((predicted(network, found) == target).float().mean()) > 0.9


@pytest.mark.parametrize("norm", list(Norm))
def test_results_do_not_depend_on_the_size_of_a_batch(network, norm):
    x = z_scored(11)
    y = predicted(network, x)
    attack = PGD(radius=0.5, norm=norm, steps=3, restarts=2)
    whole = attack(network, x, y, seeded(6))
    pieces = attack.model_copy(update={"batch": 4})(network, x, y, seeded(6))
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=0)


def test_the_curve_never_rises_and_starts_at_clean_accuracy(network):
    x = z_scored(60)
    y = torch.randint(CLASSES, (60,), generator=seeded(8))
    radii = (0.0, 0.1, 0.3, 0.6, 1.2)
    found = curve(PGD(radius=0, steps=5, batch=16), network, x, y, radii=radii, generator=seeded())
    assert found.accuracy[0] == pytest.approx(float((predicted(network, x) == y).float().mean()))
    assert bool((found.survives[1:] <= found.survives[:-1]).all())
    assert found.accuracy[0] > found.accuracy[2] > found.accuracy[-1]
    for row, radius in enumerate(radii[1:], start=1):
        single = PGD(radius=radius, steps=5)(network, x, y, seeded(3))
        assert found.accuracy[row] <= float((predicted(network, single) == y).float().mean()) + 0.1
