"""The table of the classifier and its rivals: as its rows have it, and what was not run is said."""

import json

import archive_tables
from archive_table import DISTURBANCES


def row(clean, disturbed):
    return {"fit seconds": 1.0, "clean": clean, **dict.fromkeys(DISTURBANCES, disturbed)}


def test_the_page_is_current():
    assert archive_tables.PAGE.read_text() == archive_tables.page(json.loads(archive_tables.ROWS.read_text()))


def test_means_are_over_sets_and_deviations_over_seeds():
    rows = {
        "OSULeaf | MiniRocket | 0": row(1.0, 0.5),
        "FordA | MiniRocket | 0": row(0.8, 0.3),
        "OSULeaf | MiniRocket | 1": row(0.9, 0.5),
        "FordA | MiniRocket | 1": row(0.7, 0.3),
    }
    text = archive_tables.page({"report": rows})
    line = next(one for one in text.splitlines() if one.startswith("| MiniRocket |"))
    assert "| 85.0 ± 7.1 | 40.0 ± 0.0 | 40.0 ± 0.0 |" in line
    assert line.endswith("2 of 7 sets (OSULeaf, FordA), 2 seeds |")
    assert "| NoisyRNNClassifier |  |  |  |  |  |  | not run |" in text
    assert "| OSULeaf | MiniRocket | 95.0" in text


def test_a_seed_that_was_run_on_some_sets_only_counts_within_those():
    rows = {
        "OSULeaf | MiniRocket | 0": row(1.0, 0.5),
        "FordA | MiniRocket | 0": row(0.8, 0.3),
        "OSULeaf | MiniRocket | 1": row(0.8, 0.5),
    }
    assert "| MiniRocket | 85.0 | 40.0 |" in archive_tables.page({"report": rows})


def test_goals_are_compared_run_by_run_and_said_to_be_missed():
    rows = {
        "OSULeaf | NoisyRNNClassifier | 0": row(0.9, 0.5),
        "OSULeaf | NoisyRNNClassifier | 1": row(0.8, 0.6),
        "FordA | NoisyRNNClassifier | 0": row(0.1, 0.1),  # the rival was not run there
        "OSULeaf | MiniRocket | 0": row(0.95, 0.3),
        "OSULeaf | MiniRocket | 1": row(0.8, 0.5),
        "OSULeaf | 1-NN DTW | 0": row(0.7, 0.45),
    }
    text = archive_tables.page({"report": rows})
    assert "| NoisyRNNClassifier | MiniRocket | clean | -2 | -2.5 (1 sets, 2 runs) | no |" in text
    assert "| NoisyRNNClassifier | MiniRocket | disturbed | +12 | +15.0 (1 sets, 2 runs) | yes |" in text
    assert "| NoisyRNNClassifier | 1-NN DTW | disturbed | +12 | +10.0 (1 sets, 2 runs) | no |" in text
    assert "| NoisyRNNClassifier | MiniRocket, FaultTrained | clean | 0 | not run | |" in text


def test_candidates_stand_beside_each_other_set_by_set():
    rows = {
        "GunPoint | one | 0": row(0.9, 0.5),
        "GunPoint | other | 0": row(0.8, 0.7),
        "GunPoint (20) | one | 0": row(0.4, 0.3),
        "Fish | 3000 steps, hidden noise 0 | 0": row(0.9, 0.8),
        "Fish | 3000 steps, hidden noise 0, network alone | 0": row(0.8, 0.85),
    }
    text = archive_tables.page({"search": rows})
    assert "| candidate | GunPoint | GunPoint (20) | Fish |" in text
    assert "| one | 90.0 / 50.0 | 40.0 / 30.0 |  |" in text
    assert "| other | 80.0 / 70.0 |  |  |" in text
    assert "network alone | +10.0 | -5.0 | 1 |" in text
