"""Rows are read as they were written, and what is broken is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.report.rows import Row, distinct, protocol, read


def test_rows_of_all_files_below_are_read(synthetic, tmp_path: Path) -> None:
    for seed in range(3):
        synthetic.write(tmp_path / "deep" / str(seed) / "rows.jsonl", [synthetic.record(seed=seed, value=90.0 + seed)])
    synthetic.write(tmp_path / "other.jsonl", [synthetic.record(seed=9)])
    reading = read(tmp_path)
    assert [row.value for row in reading.rows] == [90, 91, 92]
    assert reading.files == 3


@given(cut=st.integers(min_value=1, max_value=400))
def test_torn_last_line_is_skipped_and_counted(synthetic, tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    file = tmp_path_factory.mktemp("torn") / "rows.jsonl"
    whole, last = (json.dumps(synthetic.record(seed=seed)) for seed in (0, 1))
    kept = last[: min(cut, len(last) - 1)]
    file.write_text(f"{whole}\n{kept}", encoding="utf-8")
    reading = read(file.parent)
    assert [row.seed for row in reading.rows] == [0]
    assert reading.torn == 1


def test_whole_last_line_without_its_end_is_a_row(synthetic, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(synthetic.record()), encoding="utf-8")
    assert (len(read(tmp_path).rows), read(tmp_path).torn) == (1, 0)


def test_broken_line_inside_is_named(synthetic, tmp_path: Path) -> None:
    lines = [json.dumps(synthetic.record()), "{torn", json.dumps(synthetic.record(seed=1))]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"rows\.jsonl, line 2 is no row .*; repair or remove that line\.$"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"value": 101.0}, "value"),
        ({"value": float("nan")}, "value"),
        ({"seed": "x"}, "seed"),
        ({"model": None}, "model"),
    ],
)
def test_row_outside_the_contract_is_refused(synthetic, tmp_path: Path, change: dict, word: str) -> None:
    synthetic.write(tmp_path / "rows.jsonl", [synthetic.record(**change)])
    with pytest.raises(ValueError, match=f"line 1 is no row .{word}"):
        read(tmp_path)


def test_nothing_to_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no directory"):
        read(tmp_path / "missing")
    with pytest.raises(ValueError, match=r"No rows found below .* \(no file named rows.jsonl\)"):
        read(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(b"\n\xff\xfe")
    with pytest.raises(ValueError, match=r"1 files named rows\.jsonl without a whole row"):
        read(tmp_path)


def test_duplicates_count_once_and_conflicts_are_told(synthetic) -> None:
    rows = [synthetic.row(value=90.0), synthetic.row(value=90.0), synthetic.row(value=91.0), synthetic.row(level=0.1)]
    reading = distinct(rows)
    assert [row.value for row in reading.rows] == [90.0, 97.0]
    assert (reading.duplicates, reading.conflicts) == (2, 1)


def test_a_run_that_experiments_share_is_kept_for_each(synthetic) -> None:
    shared = [synthetic.row(experiment=name, key="shared") for name in ("table-3", "rivals")]
    again = [synthetic.row(key="shared", protocol="reduced: seeds 1"), synthetic.row(key="shared", measurement="other")]
    reading = distinct([*shared, *again])
    assert [row.experiment for row in reading.rows] == ["table-3", "rivals", "table-3"]
    assert reading.duplicates == 1


def test_unknown_keys_and_missing_level_are_accepted(synthetic) -> None:
    row = Row.model_validate({**synthetic.record(level=None), "gpu": "none"})
    assert row.column == ("clean", 0.0)


@pytest.mark.parametrize(
    ("written", "seeds", "regime", "label"),
    [
        ("paper", 10, "paper", "paper"),
        ("paper", 9, "paper", "reduced: seeds 9"),
        ("reduced: seeds 3", 3, "paper", "reduced: seeds 3"),
        ("reduced: epochs 30, seeds 1", 3, "reduced: epochs 30", "reduced: epochs 30, seeds 3"),
        ("reduced: epochs 30", 10, "reduced: epochs 30", "reduced: epochs 30"),
        ("demo", 1, "demo", "demo"),
        ("ours, epochs 5, seeds 3", 3, "ours, epochs 5", "ours, epochs 5"),
        ("reduced: train.lr=0.01, seeds 10", 10, "reduced: train.lr=0.01", "reduced: train.lr=0.01"),
    ],
)
def test_protocol_is_labelled_by_what_was_run(synthetic, written: str, seeds: int, regime: str, label: str) -> None:
    row = synthetic.row(protocol=written)
    assert row.regime == regime
    assert protocol(row.regime, seeds) == label
