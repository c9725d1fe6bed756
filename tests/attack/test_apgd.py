"""APGD: its checkpoints, its own step, its runs one after the other, and what it may spend."""

import pytest
import torch
from torch import Tensor
from victims import CLASSES, Recurrent, predicted, seeded, share, stands, z_scored

from noisyrnn.attack import APGD, PGD, Loss, Norm, excess
from noisyrnn.attack.apgd import checkpoints


def test_checkpoints_are_those_of_the_paper_and_come_closer():
    assert checkpoints(100) == (0, 22, 41, 57, 70, 80, 87, 93, 99)
    assert checkpoints(1) == (0,)
    gaps = [after - before for before, after in zip(checkpoints(1000)[:-1], checkpoints(1000)[1:], strict=True)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == 60


class Ridge:
    """Two classes on one number per sample: the highest point lies inside the ball, where no long step stays."""

    def __init__(self, top: float) -> None:
        self.top, self.seen = top, []

    def __call__(self, x: Tensor) -> Tensor:
        self.seen.append(x.detach().clone())
        height = -((x[:, 0, 0] - self.top) ** 2) - 1  # never errs
        return torch.stack([torch.zeros_like(height), height], dim=1)


def test_the_step_is_halved_until_an_inner_maximum_is_met():
    x, y = torch.zeros(1, 1, 1), torch.tensor([0])
    fixed, own = Ridge(0.3), Ridge(0.3)
    distance = {}
    for name, attack, ridge in (
        ("constant", PGD(radius=1, steps=60, step=2.0, random_start=False), fixed),
        ("own", APGD(radius=1, steps=60, random_start=False), own),
    ):
        distance[name] = abs(float(attack(ridge, x, y)) - 0.3)
    assert distance["own"] < 0.02
    assert distance["constant"] > 0.2


def test_after_a_checkpoint_without_progress_the_climb_returns_to_its_best_point():
    ridge = Ridge(0.3)
    APGD(radius=1, steps=20, random_start=False)(ridge, torch.zeros(1, 1, 1), torch.tensor([0]))
    points = torch.cat(ridge.seen[1:]).flatten()  # the first is the sample itself
    mark = checkpoints(20)[1]
    best = points[: mark + 1][(points[: mark + 1] - 0.3).abs().argmin()]
    # From the best point: a step of r, three quarters of it, and a quarter of the way from the point before.
    ahead = (best + (0.3 - best).sign()).clamp(-1, 1)
    expected = best + 0.75 * (ahead - best) + 0.25 * (best - points[mark - 1])
    assert float(points[mark + 1]) == pytest.approx(float(expected.clamp(-1, 1)), abs=1e-6)


@pytest.mark.parametrize("norm", list(Norm))
def test_it_is_stronger_than_small_steps_of_the_same_number(norm):
    network = Recurrent(scale=1.5).eval()
    x = z_scored(300)
    y = predicted(network, x)
    radius = 0.35 if norm is Norm.LINF else 0.9
    own = stands(network, APGD(radius=radius, norm=norm, steps=20), x, y)
    fixed = stands(network, PGD(radius=radius, norm=norm, steps=20), x, y)
    assert share(own) < share(fixed)


def test_a_confident_network_fools_the_cross_entropy_and_not_the_ratio():
    quiet = Recurrent().eval()
    x = z_scored(60)
    y = predicted(quiet, x)

    def confident(x: Tensor) -> Tensor:
        return 1e4 * quiet(x)

    climbs = {loss: APGD(radius=0.5, steps=20, loss=loss) for loss in (Loss.CROSS_ENTROPY, Loss.DLR)}
    left = {loss: share(stands(confident, attack, x, y)) for loss, attack in climbs.items()}
    same = share(stands(quiet, climbs[Loss.DLR], x, y))
    assert left[Loss.CROSS_ENTROPY] > left[Loss.DLR] + 0.1
    assert left[Loss.DLR] == pytest.approx(same, abs=0.02)


def test_more_targets_and_restarts_only_break_more(network):
    x = z_scored(80)
    y = predicted(network, x)

    def left(**more) -> Tensor:
        return stands(network, APGD(radius=0.25, steps=10, loss=Loss.DLR, **more), x, y, seed=4)

    one, all_others, again = left(targets=1), left(targets=CLASSES - 1), left(targets=1, restarts=3)
    assert bool((all_others <= one).all())
    assert bool((again <= one).all())
    assert int(all_others.sum()) < int(one.sum())


def test_targets_are_the_likeliest_wrong_classes(network):
    logits = torch.tensor([[0.0, 3.0, 2.0], [5.0, 1.0, 2.0]])
    first, second = APGD(radius=1, targets=9)._classes(logits, torch.tensor([1, 0]))
    assert first.tolist() == [2, 2]
    assert second.tolist() == [0, 1]


def test_it_spends_what_it_says():
    network = Recurrent()
    x, y = z_scored(3), torch.tensor([0, 0, 0])
    attack = APGD(radius=1e-6, steps=5, restarts=2, targets=2, passes=3)
    y = predicted(network, x)
    network.calls = 0
    attack(network, x, y, seeded())
    assert network.calls == attack.budget.forward == 3 * (1 + 2 * 2 * 6)
    assert attack.budget.backward == 3 * 2 * 2 * 5


def test_expectation_over_noise_finds_stronger_points():
    network, quiet = Recurrent(noise=3.0), Recurrent()
    x = z_scored(150)
    y = predicted(quiet, x)
    torch.manual_seed(1)
    gains = []
    for passes in (1, 32):
        found = APGD(radius=0.3, steps=6, passes=passes)(network, x, y, seeded())
        gains.append(float(excess(quiet(found), y).detach().mean()))
    assert gains[1] > gains[0] + 0.05
