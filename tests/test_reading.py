"""A directory of runs or a record gives rows, each cell once, and what is known of their experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisyrnn.about import About, describe
from noisyrnn.disk import DamagedFile
from noisyrnn.reading import read_results
from noisyrnn.record_tables import RunLine, rows_text, runs_text
from noisyrnn.rows import Row

KEY = "0123456789abcdef"


def row(**changes: Any) -> Row:
    content = {
        "experiment": "table-3", "model": "lstm", "description": {"kind": "lstm"}, "key": KEY, "seed": 0, "epochs": 3,
        "task": "ecg", "measure": "clean", "value": 97.0, "host": "here", "version": "1",
    }  # fmt: skip
    return Row.model_validate(content | changes)


def write(path: Path, *rows: Row) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(one.model_dump_json() + "\n" for one in rows), encoding="utf-8")
    return path


def publish(record: Path, *rows: Row) -> None:
    runs = {
        one.key: RunLine(
            key=one.key, task=one.task, epochs=3, seconds=1, host="here", version="1", seed=one.seed, data=one.data,
            model={"kind": "classic"}, train={},
        )
        for one in rows
    }  # fmt: skip
    (record / "rows").mkdir(parents=True)
    (record / "runs.csv").write_text(runs_text(runs.values()), encoding="utf-8")
    (record / "rows" / "ecg.csv").write_text(rows_text(rows), encoding="utf-8")


def test_rows_of_all_files_below_are_read(tmp_path: Path) -> None:
    for seed in range(3):
        write(tmp_path / "deep" / str(seed) / f"rows-{seed}.jsonl", row(seed=seed, key=str(seed), value=90.0 + seed))
    write(tmp_path / "other.jsonl", row(seed=9))
    results = read_results(tmp_path)
    assert [one.value for one in results.rows] == [90, 91, 92]
    assert results.reading.files == 3
    assert results.experiments == {}


def test_torn_lines_are_counted_over_all_files(tmp_path: Path) -> None:
    for name in "ab":
        path = write(tmp_path / f"rows-{name}.jsonl", row(key=name))
        path.write_bytes(path.read_bytes() + b'{"exper')
    reading = read_results(tmp_path).reading
    assert (len(reading.rows), reading.torn) == (2, 2)


def test_a_record_and_runs_say_the_same_thing_once(tmp_path: Path) -> None:
    rows = [row(measure="white", level=level) for level in (0.1, 0.2)]
    publish(tmp_path / "results", *rows)
    assert read_results(tmp_path / "results").rows == tuple(rows)
    write(tmp_path / "runs" / "rows-a.jsonl", *rows, row(), row(measure="white", level=0.1, value=1.0))
    reading = read_results(tmp_path).reading
    assert reading.rows == (*rows, row())
    assert (reading.files, reading.duplicates, reading.conflicts) == (2, 3, 1)


def test_descriptions_of_all_places_below_are_known(tmp_path: Path) -> None:
    write(tmp_path / "a" / "rows-a.jsonl", row())
    describe(tmp_path / "a", [About(name="table-3", title="Three")])
    (tmp_path / "b").mkdir()
    describe(tmp_path / "b", [About(name="table-5", title="Five")])
    found = read_results(tmp_path).experiments
    assert {name: about.title for name, about in found.items()} == {"table-3": "Three", "table-5": "Five"}


def test_nothing_to_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no directory"):
        read_results(tmp_path / "missing")
    with pytest.raises(ValueError, match=r"^No rows found below \S+; make some with: noisyrnn run table-3\.$"):
        read_results(tmp_path)
    (tmp_path / "rows-a.jsonl").write_bytes(b"\n\xff\xfe")
    with pytest.raises(ValueError, match=r"^No rows found below"):
        read_results(tmp_path)


def test_files_of_version_0_1_are_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "run" / "rows.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({"experiment": "table-3"}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^\S+rows\.jsonl was written by version 0\.1: `noisyrnn record \S+ RECORD` "):
        read_results(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"experiments": {"a": 1}}'], ids=range(5))
def test_a_damaged_description_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "rows-a.jsonl", row())
    (tmp_path / "experiments.json").write_bytes(content)
    with pytest.raises(DamagedFile, match=r"^\S+experiments\.json is not a description of experiments \(.+\): .+\.$"):
        read_results(tmp_path)


def test_a_directory_or_link_in_the_place_of_rows_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a" / "rows-a.jsonl").mkdir(parents=True)
    with pytest.raises(DamagedFile, match=r"^\S+rows-a\.jsonl .*\.$"):
        read_results(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "rows-b.jsonl").symlink_to(write(tmp_path / "whole", row()))
    with pytest.raises(DamagedFile, match=r"^\S+rows-b\.jsonl is a link"):
        read_results(tmp_path / "b")
