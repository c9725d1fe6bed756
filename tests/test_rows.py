"""Rows are read as they were written, and what is broken is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from noisyrnn.disk import DamagedFile
from noisyrnn.rows import Row, distinct, rows_in


def record(**changes: Any) -> dict[str, Any]:
    content = {
        "experiment": "table-3", "model": "lipschitz", "description": {"kind": "lipschitz"}, "key": "a", "seed": 0,
        "epochs": 100, "task": "ecg", "measure": "clean", "level": 0.0, "value": 97.0,
    }  # fmt: skip
    return content | changes


def row(**changes: Any) -> Row:
    return Row.model_validate(record(**changes))


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def test_rows_are_read_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    rows = [row(seed=seed, value=90.0 + seed, overrides={"train.lr": 0.1, "noise": {"sigma": 1}}) for seed in (2, 0, 1)]
    path = tmp_path / "rows-a.jsonl"
    path.write_text("".join(f"{one.model_dump_json()}\n\n" for one in rows), encoding="utf-8")
    assert rows_in(path) == (rows, 0)


@given(cut=st.integers(min_value=1, max_value=400))
def test_torn_last_line_is_skipped_and_counted(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    file = tmp_path_factory.mktemp("torn") / "rows-a.jsonl"
    whole, last = (json.dumps(record(seed=seed)) for seed in (0, 1))
    kept = last[: min(cut, len(last) - 1)]
    file.write_text(f"{whole}\n{kept}", encoding="utf-8")
    rows, torn = rows_in(file)
    assert [one.seed for one in rows] == [0]
    assert torn == 1


def test_whole_last_line_without_its_end_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "rows-a.jsonl").write_text(json.dumps(record()), encoding="utf-8")
    assert rows_in(tmp_path / "rows-a.jsonl") == ([row()], 0)


def test_broken_line_inside_is_named(tmp_path: Path) -> None:
    lines = [json.dumps(record()), "{torn", json.dumps(record(seed=1))]
    path = tmp_path / "rows-a.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sentence = r"^\S+rows-a\.jsonl, line 2 is no row \(.*\): repair that line, or remove it to measure again\.$"
    with pytest.raises(DamagedFile, match=sentence):
        rows_in(path)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"value": 101.0}, "value"),
        ({"value": float("nan")}, "value"),
        ({"seed": "x"}, "seed"),
        ({"model": None}, "model"),
        ({"level": None}, "level"),
        ({"level": float("inf")}, "level"),
        ({"gpu": "none"}, "gpu"),
        ({"description": {"kind": "lstm", "size": 3}}, "description.size"),
        ({"description": "lstm"}, "description"),
        ({"overrides": "epochs 5"}, "overrides"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_row_outside_the_contract_is_refused(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    path = written(tmp_path / "rows-a.jsonl", record(**change))
    with pytest.raises(DamagedFile, match=rf"line 1 is no row \((Invalid JSON: .*|{word}.*)\): repair"):
        rows_in(path)


def test_hostile_lines_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "rows-a.jsonl"
    for line in (b"\xff\xfe", b"[" * 100_000, b"[]", b'{"a\\nb": 1}', b"{}"):
        path.write_bytes(line + b"\n")
        with pytest.raises(DamagedFile, match=r"^\S+rows-a\.jsonl, line 1 is no row \(.*\): repair .*\.$"):
            rows_in(path)


def test_duplicates_count_once_and_conflicts_are_told() -> None:
    reading = distinct([row(value=90.0), row(value=90.0), row(value=91.0), row(level=0.1)])
    assert [one.value for one in reading.rows] == [90.0, 97.0]
    assert (reading.duplicates, reading.conflicts) == (2, 1)


def test_a_run_that_experiments_share_is_kept_for_each() -> None:
    shared = [row(experiment=name) for name in ("table-3", "rivals")]
    again = [row(overrides={"seeds": 1}), row(measurement="other")]
    reading = distinct([*shared, *again])
    assert [one.experiment for one in reading.rows] == ["table-3", "rivals", "table-3"]
    assert reading.duplicates == 1


def test_of_duplicates_the_row_under_the_full_protocol_stays() -> None:
    reduced, shorter, full = row(overrides={"seeds": 1}), row(overrides={"seeds": 2}), row(host="another")
    for rows in ([reduced, full, shorter], [full, reduced, shorter], [reduced, shorter, full]):
        reading = distinct(rows)
        assert reading.rows == (full,)
        assert (reading.duplicates, reading.conflicts) == (2, 0)
    assert distinct([reduced, shorter]).rows == (reduced,)
    ours = row(protocol="ours")
    assert distinct([reduced, ours]).rows == (reduced,)


def test_measurements_that_differ_in_more_than_their_level_are_no_duplicates() -> None:
    assert len(distinct([row(measurement="a"), row(measurement="b"), row(key="b"), row(model="lstm")]).rows) == 4


def test_a_missing_level_is_none_at_all_and_unknown_fields_are_refused() -> None:
    content = record()
    del content["level"]
    assert Row.model_validate(content).column == ("clean", 0.0)
    with pytest.raises(ValidationError, match="gpu"):
        Row.model_validate({**content, "gpu": "none"})


def test_columns_meet_in_spite_of_rounding() -> None:
    assert row(measure="white", level=0.1 + 0.2).column == row(measure="white", level=0.3).column == ("white", 0.3)


@pytest.mark.parametrize(
    ("protocol", "overrides", "seeds", "regime", "label", "written"),
    [
        ("paper", {}, 10, (), "paper", "paper"),
        ("paper", {}, 9, (), "reduced: seeds 9", "paper"),
        ("paper", {"seeds": 3}, 3, (), "reduced: seeds 3", "reduced: seeds 3"),
        ("paper", {"epochs": 30, "seeds": 1}, 3, (("epochs", "30"),), "reduced: epochs 30, seeds 3",
         "reduced: epochs 30, seeds 1"),
        ("paper", {"epochs": 30}, 10, (("epochs", "30"),), "reduced: epochs 30", "reduced: epochs 30"),
        ("demo", {}, 1, (), "demo", "demo"),
        ("ours", {"epochs": 5, "seeds": 3}, 3, (("epochs", "5"),), "ours, epochs 5", "ours, epochs 5, seeds 3"),
        ("paper", {"train.lr": 0.01, "seeds": 10}, 10, (("train.lr", "0.01"),), "reduced: train.lr=0.01",
         "reduced: train.lr=0.01"),
        ("paper", {"train.decay": {"90": 0.1}}, 10, (("train.decay", '{"90":0.1}'),),
         'reduced: train.decay={"90":0.1}', 'reduced: train.decay={"90":0.1}'),
    ],
)  # fmt: skip
def test_protocol_is_labelled_by_what_was_run(
    protocol: str, overrides: dict[str, Any], seeds: int, regime: tuple[tuple[str, str], ...], label: str, written: str
) -> None:
    one = row(protocol=protocol, overrides=overrides)
    assert one.regime == (protocol, regime)
    assert one.regime.label(seeds) == label
    assert one.protocol_label == written
    assert one.regime.paper is (protocol == "paper" and not regime)


def test_overrides_of_the_wrong_type_have_a_label_too() -> None:
    assert "many" in row(overrides={"seeds": "many"}).protocol_label
