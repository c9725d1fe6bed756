"""The choices that were made on validation samples are those that the recorded rows name."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisyrnn.experiments import rows
from noisyrnn.experiments.catalogue.leaders import LEADER, leader_recipes, least_lead
from noisyrnn.experiments.catalogue.pixel_rivals import PIXEL_RIVALS, pixel_rival_families
from noisyrnn.experiments.catalogue.recipes import FOUND_ON_ECG, ecg_recipes, lstm, prescribed_on_ecg, with_settings
from noisyrnn.experiments.catalogue.rivals import RIVALS, rival_families
from noisyrnn.experiments.catalogue.search import baseline_search, noise_search, ranking
from noisyrnn.rows import Row

_RESULTS = Path(__file__).parents[3] / "results"
_recorded = pytest.mark.skipif(not _RESULTS.is_dir(), reason="the recorded searches are not part of this distribution")


def _rows(search: str) -> list[Row]:
    return [row for row in rows(_RESULTS) if row.experiment == search]


@_recorded
def test_baselines_on_ecg_are_the_winners_of_the_recorded_search() -> None:
    told = _rows("baseline-search")
    search, chosen = baseline_search().recipes, ecg_recipes()
    for label, prescribed in prescribed_on_ecg().items():
        if label == "lipschitz":  # prescribed by the paper
            continue
        draws = [row.model for row in told if row.model.startswith(f"{label} draw")]
        assert set(draws) == {name for name in search if name.startswith(f"{label} draw")}
        winner = search[ranking(told, among=f"{label} draw")[0][0]]
        assert (chosen[label].model, chosen[label].train) == (winner.model, winner.train)
        assert (label in FOUND_ON_ECG) == ((winner.model, winner.train) != (prescribed.model, prescribed.train))


@_recorded
def test_rivals_are_the_best_of_their_families_in_the_recorded_search() -> None:
    told = _rows("rivals-search")
    for family, recipes in rival_families().items():
        tried = [row for row in told if row.model in recipes]
        assert {row.model for row in tried} == recipes.keys()
        assert ranking(tried)[0][0] == RIVALS[family]


@_recorded
def test_rivals_on_pixels_are_the_best_of_their_families_in_the_recorded_search() -> None:
    told, families = _rows("rivals-mnist-search"), pixel_rival_families()
    assert families.keys() == PIXEL_RIVALS.keys()
    for family, recipes in families.items():
        tried = [row for row in told if row.model in recipes]
        assert {row.model for row in tried} == recipes.keys()
        assert ranking(tried)[0][0] == PIXEL_RIVALS[family]


@_recorded
def test_the_leader_is_the_best_of_the_recorded_search() -> None:
    told = _rows("leader-search")
    assert {row.model for row in told} == leader_recipes().keys()
    rivals = [row for row in _rows("rivals-search") if row.model in RIVALS.values()]
    assert next(iter(least_lead(told, rivals))) == LEADER


def test_a_search_begins_at_the_prescription_and_draws_the_same_each_time() -> None:
    search = baseline_search(draws=2)
    for label, recipe in prescribed_on_ecg().items():
        assert search.recipes[f"{label} draw 0"] == recipe.model_copy(update={"variant": "draw 0"})
    assert baseline_search(draws=2) == search
    assert noise_search(seed=1).recipes.keys() != noise_search(seed=2).recipes.keys()


def test_changed_settings_keep_the_ratio_of_two_rates() -> None:
    before = prescribed_on_ecg()["exprnn"]
    after = with_settings(before, {"train.lr": before.train.lr * 2}, "test")
    assert after.train.lr_orthogonal == pytest.approx(2 * (before.train.lr_orthogonal or 0))
    assert with_settings(lstm(), {}, lstm().source) == lstm()
