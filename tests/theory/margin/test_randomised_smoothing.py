"""Randomised smoothing on a linear classifier, whose smoothed radius is known exactly."""

import pytest
import torch
from scipy import stats

from noisyrnn.theory import smoothed_label, smoothing
from noisyrnn.theory.margin.randomised_smoothing import ABSTAIN, lower_confidence


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


NORMAL = torch.randn(4, 2, generator=generator(9), dtype=torch.float64)


def linear(x):
    """Two classes, split by a hyperplane: smoothing does not move it, so the true radius is the distance to it."""
    side = (x * NORMAL).sum((-2, -1)) - 0.3
    return torch.stack((side, -side), -1)


def distance(x):
    return ((x * NORMAL).sum((-2, -1)) - 0.3).abs() / NORMAL.norm()


def test_certified_radius_is_below_the_true_one_as_often_as_stated():
    x = torch.randn(300, 4, 2, generator=generator(1), dtype=torch.float64)
    result = smoothing(linear, x, sigma=0.7, generator=generator(2), alpha=0.05, select=20, draws=200)
    truth = linear(x).argmax(-1)
    sure = ~result.abstained
    too_large = sure & ((result.radius > distance(x)) | (result.label != truth))
    # At most Binomial(300, 0.05): 28 is its 0.999 quantile.
    assert int(too_large.sum()) <= stats.binom.ppf(0.999, 300, 0.05)
    assert int(sure.sum()) > 150
    assert "confidence 0.95" in str(result)


def test_more_draws_come_closer_to_the_true_radius():
    x = torch.full((1, 4, 2), 0.3, dtype=torch.float64)
    few, many = (
        smoothing(linear, x, sigma=1.0, generator=generator(3), draws=draws, alpha=0.001).radius.item()
        for draws in (100, 20000)
    )
    assert few < many <= distance(x).item()
    assert many > 0.9 * distance(x).item()


def test_it_abstains_on_the_boundary_and_does_not_depend_on_the_chunk():
    x = 0.3 * NORMAL / NORMAL.norm() ** 2
    result = smoothing(linear, x.unsqueeze(0), sigma=0.5, generator=generator(4), draws=500)
    assert result.label.item() == ABSTAIN
    assert result.radius.item() == 0
    assert result.certified_accuracy(torch.tensor([0]), 0.0) == 0
    assert smoothed_label(linear, x.unsqueeze(0), sigma=0.5, generator=generator(4)).item() == ABSTAIN
    away = torch.ones(2, 4, 2, dtype=torch.float64)
    whole, parts = (
        smoothing(linear, away, sigma=0.5, generator=generator(5), draws=300, chunk=chunk).radius
        for chunk in (1000, 300)
    )
    assert torch.equal(whole, parts)


def test_clopper_pearson_is_scipys():
    for successes in (0, 1, 57, 99, 100):
        expected = stats.binomtest(successes, 100, alternative="greater").proportion_ci(0.99, method="exact").low
        assert lower_confidence(torch.tensor([successes]), 100, 0.01).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"alpha": 1.0}, {"draws": 0}])
def test_wrong_settings_are_refused(wrong):
    settings = {"sigma": 0.5, "generator": generator(), **wrong}
    with pytest.raises(ValueError, match=r"needs|alpha"):
        smoothing(linear, torch.ones(1, 4, 2, dtype=torch.float64), **settings)
