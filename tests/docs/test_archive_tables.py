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
