"""The generalisation bound: pinned numbers, and that its assumptions are said."""

import math

import pytest

from noisyrnn.theory import covering_number, generalisation_bound, subspace_complexity

SETTING = {"complexity": 1.0, "classes": 10, "samples": 60000, "delta": 0.01}


def test_reference_numbers():
    result = generalisation_bound(margin=0.1, dimension=2, **SETTING)
    assert result.as_printed == pytest.approx(0.31639570122017496, rel=1e-13)
    assert result.bound == pytest.approx(0.3042583273265099, rel=1e-13)
    assert result.cells == pytest.approx(4000)
    assert not result.vacuous


def test_high_dimension_makes_it_vacuous_and_says_so():
    result = generalisation_bound(margin=0.1, dimension=10, **SETTING)
    assert result.bound == pytest.approx(4.9e4, rel=0.01)
    assert result.vacuous
    assert "vacuous" in str(result)
    assert generalisation_bound(margin=1e-3, dimension=784, **SETTING).bound == math.inf


def test_one_root_is_never_above_two_and_one_cell_a_class_is_the_least():
    for margin in (0.05, 0.5, 1.9):
        for dimension in (1, 3):
            result = generalisation_bound(margin=margin, dimension=dimension, **SETTING)
            assert result.bound <= result.as_printed
    wide = generalisation_bound(margin=100.0, dimension=3, **SETTING)
    assert wide.cells == 10
    assert wide.as_printed < wide.bound  # the printed form forgets that a partition has at least one cell a class


def test_a_margin_from_the_data_is_paid_for():
    fixed = generalisation_bound(margin=0.125, dimension=2, **SETTING)
    union = generalisation_bound(margin=0.2, dimension=2, **SETTING, data_dependent=True)
    assert union.margin == 0.125
    price = 2 * math.log(3 * 4) / 60000
    assert union.bound**2 == pytest.approx(fixed.bound**2 + price, rel=1e-12)
    assert any("union bound" in assumption for assumption in union.assumptions)
    assert any("fixed before" in assumption for assumption in fixed.assumptions)
    assert "0-1 loss" in str(fixed)


def test_covering_numbers():
    assert covering_number(0.5, dimension=3, complexity=2.0) == 64
    assert covering_number(5.0, dimension=3, complexity=2.0) == 1
    # Two dimensions, radius 1: a grid of the stated size covers the disc.
    assert (
        covering_number(0.5, dimension=2, complexity=subspace_complexity(1.0, dimension=2)) >= math.pi / 0.25 / math.pi
    )


@pytest.mark.parametrize("wrong", [{"margin": 0.0}, {"margin": -1.0}, {"dimension": 0}, {"delta": 0.0}, {"samples": 0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        generalisation_bound(**{"margin": 0.1, "dimension": 2, **SETTING, **wrong})
