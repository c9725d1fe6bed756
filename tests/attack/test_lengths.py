"""Unequal lengths: padding is never perturbed, takes no part of the ball, and what it holds changes nothing."""

import copy
import inspect

import pytest
import torch
from torch import Tensor
from victims import seeded, z_scored

from noisyrnn.attack import APGD, FGSM, PGD, Loss, Norm, Schedule, Square, curve, excess, signs, standard
from noisyrnn.models import Noisy

LENGTHS = torch.tensor([9, 4, 1, 7, 2, 9, 5, 3])

ATTACKS = {
    "fgsm": FGSM(radius=0.5),
    **{
        f"{name} {norm}": attack
        for norm in Norm
        for name, attack in {
            "pgd": PGD(radius=0.5, norm=norm, steps=4, restarts=2),
            "pgd falling": PGD(radius=0.5, norm=norm, steps=4, schedule=Schedule.FALLING),
            "apgd": APGD(radius=0.5, norm=norm, steps=6, restarts=2, loss=Loss.DLR),
            "square": Square(radius=0.5, norm=norm, queries=30),
            "union": standard(0.5, norm, steps=5, queries=20),
        }.items()
    },
}


@pytest.fixture(scope="module")
def padded() -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Noisy(hidden=6).build(inputs=2, classes=3).eval()


def answers(network: torch.nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return network(x, lengths=LENGTHS).argmax(1)


@pytest.mark.parametrize("name", ATTACKS)
def test_padding_stays_and_what_it_holds_does_not_matter(padded, name):
    x, attack = z_scored(8), ATTACKS[name]
    y, padding = answers(padded, x), (torch.arange(9) >= LENGTHS[:, None])[:, :, None].expand_as(x)
    found = attack(padded, x, y, seeded(1), lengths=LENGTHS)
    assert torch.equal(found[padding], x[padding])
    assert bool((found != x)[~padding].any())
    other = torch.where(padding, 77.0, x)
    again = attack(padded, other, y, seeded(1), lengths=LENGTHS)
    assert torch.equal(again[~padding], found[~padding])
    assert torch.equal(again[padding], other[padding])


@pytest.mark.parametrize("name", ATTACKS)
def test_padding_beyond_bounds_is_neither_refused_nor_clamped(padded, name):
    x = z_scored(8).clamp(-1, 1)
    padding = (torch.arange(9) >= LENGTHS[:, None])[:, :, None].expand_as(x)
    x = torch.where(padding, -5.0, x)
    bounded = ATTACKS[name].model_copy(update={"bounds": (-1.0, 1.0)})
    if name.startswith("union"):
        norm = ATTACKS[name].norm
        bounded = standard(0.5, norm, steps=5, queries=20, bounds=(-1.0, 1.0))
    found = bounded(padded, x, answers(padded, x), seeded(1), lengths=LENGTHS)
    assert torch.equal(found[padding], x[padding])
    assert float(found[~padding].abs().max()) <= 1


@pytest.mark.parametrize("norm", list(Norm))
def test_a_padded_sample_is_attacked_like_the_short_one(padded, norm):
    padded, x = copy.deepcopy(padded).double(), z_scored(8).double()  # so that rounding decides no step
    y = answers(padded, x)
    for attack in (
        APGD(radius=0.3, norm=norm, steps=8, random_start=False),
        PGD(radius=0.3, norm=norm, steps=8, random_start=False),
    ):
        found = attack(padded, x, y, lengths=LENGTHS)
        for sample, length in enumerate(LENGTHS.tolist()):
            one = slice(sample, sample + 1)
            short = attack(padded, x[one, :length], y[one])
            torch.testing.assert_close(found[one, :length], short, atol=1e-9, rtol=0)


@pytest.mark.parametrize("norm", list(Norm))
def test_a_search_uses_the_whole_radius_for_valid_steps(padded, norm):
    x = z_scored(8)
    y = answers(padded, x)
    found = Square(radius=0.01, norm=norm, queries=60)(padded, x, y, seeded(), lengths=LENGTHS)
    with torch.no_grad():
        stands = excess(padded(found, lengths=LENGTHS), y) <= 0
    away = (found - x).flatten(1)
    size = away.abs().amax(1) if norm is Norm.LINF else away.norm(dim=1)
    torch.testing.assert_close(size[stands], torch.full_like(size[stands], 0.01), rtol=1e-3, atol=0)


def test_random_starts_fill_the_ball_of_the_valid_steps():
    x, lengths = torch.zeros(4000, 9, 2), torch.full((4000,), 3)
    attack = PGD(radius=2.0, norm=Norm.L2)
    case = attack._case(lambda x, lengths: x[:, 0], x, torch.zeros(4000, dtype=torch.long), seeded(), lengths)
    (start,) = attack._starts(case)
    assert not bool(start[:, 3:].any())
    share = (start.flatten(1).norm(dim=1) / 2.0) ** 6  # uniform in [0, 1] for an even ball of 3 x 2 numbers
    assert abs(float(share.mean()) - 0.5) < 5 / (12 * 4000) ** 0.5


def test_curves_and_signs_take_lengths(padded):
    x = z_scored(8)
    y = answers(padded, x)
    found = curve(APGD(radius=0, steps=3), padded, x, y, radii=(0.0, 9.0), generator=seeded(), lengths=LENGTHS)
    assert found.accuracy[0] == 1
    assert found.accuracy[1] < 1
    zero = next(s for s in signs(padded, x, y, seeded(), radius=0.1, queries=20, lengths=LENGTHS) if "zero" in s.name)
    assert zero.numbers["numbers"] == 0  # steps that do not exist are not counted


def test_lengths_of_another_number_are_refused(padded):
    call = inspect.unwrap(FGSM.__call__)  # what users run: without the shape checks of the test suite
    with pytest.raises(ValueError, match="one length per sample, 8"):
        call(FGSM(radius=0.1), padded, z_scored(8), torch.zeros(8, dtype=torch.long), lengths=LENGTHS[:3])
