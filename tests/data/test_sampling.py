"""Splits: disjoint, in proportion, repeatable, and fixed for ever."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisyrnn.data import DataError, fingerprint, stratified

labels = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(lambda held: np.array(held, dtype=np.int64))


@settings(max_examples=150, deadline=None)
@given(y=labels, cut=st.tuples(st.floats(0, 1), st.floats(0, 1)), seed=st.integers(0, 2**32 - 1))
def test_parts_are_disjoint_complete_and_in_proportion(y, cut, seed):
    low, high = sorted(round(part * len(y)) for part in cut)
    sizes = (low, high - low, len(y) - high)
    parts = stratified(y, sizes, seed)
    assert tuple(len(part) for part in parts) == sizes
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
    for label in range(5):
        share = (y == label).sum() * sizes[0] / len(y)
        assert abs((y[parts[0]] == label).sum() - share) < 1


def test_the_seed_decides_and_nothing_else():
    y = np.repeat([0, 1], 50)
    assert fingerprint(*stratified(y, (60, 40), 7)) == fingerprint(*stratified(y, (60, 40), 7))
    assert fingerprint(*stratified(y, (60, 40), 7)) != fingerprint(*stratified(y, (60, 40), 8))


def test_a_known_drawing_never_changes():
    parts = stratified(np.repeat([0, 1, 2], [50, 30, 20]), (60, 20, 20), 0)
    assert fingerprint(*parts)[:16] == "9cb2423799f4af07"


def test_parts_are_not_sorted_by_class():
    y = np.repeat([0, 1], 200)
    drawn = y[stratified(y, (300, 100), 0)[0]]
    assert 100 < (np.diff(drawn) != 0).sum() < 200


def test_asking_for_more_than_there_is_is_refused():
    with pytest.raises(DataError, match="from 3 samples"):
        stratified(np.zeros(3, dtype=np.int64), (2, 2), 0)
