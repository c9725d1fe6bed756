"""A union is never weaker than a member, says who broke what, and spends what it says."""

import pytest
import torch
from torch import Tensor
from victims import CLASSES, Recurrent, predicted, seeded, z_scored

from noisyrnn.attack import APGD, FGSM, PGD, Loss, Norm, Square, Union, excess, standard


def members(norm: Norm, radius: float = 0.3) -> tuple[APGD | PGD | Square, ...]:
    return (
        PGD(radius=radius, norm=norm, steps=2, random_start=False),
        APGD(radius=radius, norm=norm, steps=6),
        APGD(radius=radius, norm=norm, steps=6, loss=Loss.DLR, targets=2, restarts=2),
        Square(radius=radius, norm=norm, queries=40),
    )


@pytest.mark.parametrize("norm", list(Norm))
def test_whatever_a_member_breaks_the_union_breaks(network, norm):
    x = z_scored(150)
    y = predicted(network, x)
    attack = Union(attacks=members(norm, 0.25 if norm is Norm.LINF else 0.8))
    verdict = attack.verdict(network, x, y, seeded(5))
    stands = excess(network(verdict.found), y) <= 0
    assert torch.equal(stands, verdict.by == -1)
    assert 0 < int(stands.sum()) < len(x)
    alone = [excess(network(one(network, x, y, seeded(5))), y) <= 0 for one in attack.attacks]
    for left in alone:
        assert bool((stands <= left).all())
    # Each sample is credited to the first member that breaks it alone.
    first = torch.stack(alone).long().cumprod(0).sum(0) + 1
    assert torch.equal(torch.where(stands, -1, first), verdict.by)


def test_verdicts_count_what_fell_and_what_was_wrong_before(network):
    x = z_scored(90)
    y = predicted(network, x)
    y[:10] = (y[:10] + 1) % CLASSES
    attack = standard(0.25, steps=5, targets=2, queries=20)
    verdict = attack.verdict(network, x, y, seeded())
    assert list(verdict.broken) == ["clean", "apgd", "apgd dlr 2 targets", "square"]
    assert verdict.broken["clean"] == 10
    assert sum(verdict.broken.values()) == round(len(x) * (1 - verdict.accuracy))
    assert torch.equal(verdict.found[:10], x[:10])
    assert torch.equal(verdict.found, attack(network, x, y, seeded()))


def test_a_sample_that_stands_gets_the_nearest_miss(network):
    x = z_scored(30)
    y = predicted(network, x)
    attack = Union(attacks=members(Norm.LINF, 0.02))
    verdict = attack.verdict(network, x, y, seeded(2))
    stands = verdict.by == -1
    assert int(stands.sum()) > 20
    union = excess(network(verdict.found), y)
    alone = torch.stack([excess(network(one(network, x[stands], y[stands], seeded(2))), y[stands])
                         for one in attack.attacks if one.kind == "pgd"])  # fmt: skip
    assert bool((union[stands] >= alone.amax(0) - 1e-6).all())
    assert bool((union[stands] > excess(network(x), y)[stands]).all())


def test_it_spends_no_more_than_it_says():
    network = Recurrent()
    x = z_scored(3)
    y = predicted(network, x)
    attack = standard(1e-7, steps=4, targets=2, queries=10)
    network.calls = 0
    attack(network, x, y, seeded())
    assert network.calls == attack.budget.forward
    assert attack.budget.backward == 4 + 2 * 4


def test_members_meet_only_what_still_stands(network):
    seen: list[int] = []

    def watched(x: Tensor) -> Tensor:
        seen.append(len(x))
        return network(x)

    x = z_scored(50)
    y = predicted(network, x)
    Union(attacks=(FGSM(radius=0.3), FGSM(radius=0.3, loss=Loss.EXCESS)))(watched, x, y)
    left = int((predicted(network, FGSM(radius=0.3)(network, x, y)) == y).sum())
    assert seen == [50, 50, 50, left, left]  # clean, first, judged, second, judged


def test_at_changes_the_radius_of_every_member():
    attack = standard(0.1, Norm.L2, bounds=(-9.0, 9.0)).at(0.4)
    assert {one.radius for one in attack.attacks} == {attack.level} == {0.4}
    assert (attack.norm, attack.bounds) == (Norm.L2, (-9.0, 9.0))


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        (FGSM(radius=0.1), FGSM(radius=0.2), "share one radius"),
        (FGSM(radius=0.1), PGD(radius=0.1, norm=Norm.L2), "share one norm"),
        (FGSM(radius=0.1), FGSM(radius=0.1, bounds=(0, 1)), "share one bounds"),
        (FGSM(radius=0.1), FGSM(radius=0.1, targeted=True), "targeted=False"),
    ],
)
def test_members_of_different_balls_are_refused(one, other, rule):
    with pytest.raises(ValueError, match=rule):
        Union(attacks=(one, other))
