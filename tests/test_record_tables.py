"""The tables of a record: rows and runs go into CSV and come back exactly, and damage has a file and a line."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noisyrnn.disk import DamagedFile
from noisyrnn.record_tables import RunLine, pairs, rows_in_record, rows_text, runs_in, runs_text, unpaired
from noisyrnn.rows import Description, Row, distinct
from noisyrnn.setting import canonical

LIKE_JSON = ("", "true", "null", "12", "1e5", "NaN", '"quoted"', "[]", "{}", " 12", "1" * 5000, "-Infinity", "[" * 1200)
TRICKY = (
    "a,b",
    'say "so"',
    "two\nlines",
    "carriage\rreturn",
    "both\r\n",
    "\u2028",
    "é",
    "\x00",
    "=1+1",
    " ",
    "'",
    "\\",
)

finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12) | st.sampled_from(LIKE_JSON + TRICKY)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
names = st.from_regex(r"[a-z][a-z_]{0,6}(\.[a-z_]{1,6})?", fullmatch=True)
settings = st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True).filter(lambda name: name != "kind"),
                           json_values, max_size=3)  # fmt: skip
kinds = st.sampled_from(["lipschitz", "noisy", "classic"])
seconds = st.floats(0, 1e9)

run_lines = st.builds(
    RunLine,
    key=st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
    task=st.sampled_from(["ecg", "ordered-mnist", "ucr-gunpoint"]),
    name=st.sampled_from(["", "ecg-nrnn-0"]),
    status=st.sampled_from(["finished", "unfinished"]),
    epochs=st.integers(0, 10**6),
    seconds=seconds,
    host=texts,
    version=texts,
    contract=st.integers(1, 9),
    verified=st.booleans(),
    source=texts,
    seed=st.integers(0, 2**64),
    data=settings,
    model=st.builds(lambda kind, rest: {"kind": kind, **rest}, kinds, settings),
    train=settings,
)
descriptions = st.builds(
    Description,
    kind=texts.filter(bool),
    multiplicative=st.none() | finite,
    additive=st.none() | finite,
    convention=texts,
    variant=texts,
)


@st.composite
def records(draw: st.DrawFn) -> tuple[list[RunLine], list[Row]]:
    """Runs, and rows of these runs."""
    runs = draw(st.lists(run_lines, min_size=1, max_size=3, unique_by=lambda run: run.key))
    rows = [
        draw(
            st.builds(
                Row,
                experiment=texts, model=texts, description=descriptions, key=st.just(run.key), seed=st.integers(),
                epochs=st.integers(), protocol=texts, overrides=st.dictionaries(names, json_values, max_size=3),
                task=st.just(run.task), data=st.just(run.data), part=texts, measure=texts, level=finite,
                budget=st.dictionaries(names, json_values, max_size=2), measurement=texts, value=st.floats(0, 100),
                samples=st.integers(), verified=st.just(run.verified), contract=st.just(run.contract),
                version=st.just(run.version), host=st.just(run.host), seconds=finite, created=texts,
            )
        )
        for run in runs
        for _ in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    return runs, rows


def test_a_row_of_another_training_says_which(tmp_path: Path) -> None:
    run = RunLine(
        key="0" * 16, task="ecg", epochs=1, seconds=1.0, host="", version="0.1.0", contract=1, seed=0,
        data={"kind": "ecg5000"}, model={"kind": "lipschitz"}, train={},
    )  # fmt: skip
    of_run = {"key": run.key, "task": "ecg", "host": "", "data": run.data}
    old = row(**of_run, version="0.1.0", contract=1, measurement="a")
    new = row(**of_run, version="0.2.0", contract=2, measurement="b")
    (tmp_path / "rows").mkdir()
    (tmp_path / "runs.csv").write_text(runs_text([run]))
    table = tmp_path / "rows" / "ecg.csv"
    for rows, columns in (([old], False), ([old, new], True)):
        table.write_text(rows_text(rows, {run.key: run}))
        assert ("contract" in table.read_text().splitlines()[0]) == columns
        assert rows_in_record(tmp_path) == rows


def publish(record: Path, runs: list[RunLine], rows: list[Row]) -> Path:
    (record / "rows").mkdir(parents=True, exist_ok=True)
    (record / "runs.csv").write_bytes(runs_text(runs).encode())
    (record / "rows" / "some.csv").write_bytes(rows_text(rows).encode())
    return record


@given(records())
def test_rows_and_runs_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, written: tuple[list[RunLine], list[Row]]
) -> None:
    runs, rows = written[0], list(distinct(written[1]).rows)
    record = publish(tmp_path_factory.mktemp("record"), runs, rows)
    # As JSON, so that 1, 1.0 and true are told apart.
    assert {key: canonical(run) for key, run in runs_in(record).items()} == {run.key: canonical(run) for run in runs}
    found = rows_in_record(record)
    assert sorted(map(canonical, found)) == sorted(map(canonical, rows))
    assert {row.cell: row.regime for row in found} == {row.cell: row.regime for row in rows}


@given(records(), st.randoms(use_true_random=False))
def test_tables_do_not_depend_on_the_order_of_what_they_hold(
    written: tuple[list[RunLine], list[Row]], dice: random.Random
) -> None:
    runs, rows = written[0], list(distinct(written[1]).rows)
    before = runs_text(runs), rows_text(rows)
    dice.shuffle(runs)
    dice.shuffle(rows)
    assert (runs_text(runs), rows_text(rows)) == before


def test_measurements_that_differ_only_in_their_digits_have_one_order() -> None:
    rows = [row(measurement=digits) for digits in "ab"]
    assert rows_text(rows) == rows_text(rows[::-1])


@given(st.dictionaries(names, json_values, max_size=4))
@example({"a": "b=1 c=2", "d": {"e": [1, "x y"]}})
def test_pairs_are_read_back(values: dict[str, Any]) -> None:
    assert unpaired(pairs(values)) == values


def run(**changes: Any) -> RunLine:
    content: dict[str, Any] = {
        "key": "0123456789abcdef", "task": "ecg", "epochs": 3, "seconds": 1.5, "host": "here", "version": "1",
        "seed": 0, "data": {"kind": "ecg5000"}, "model": {"kind": "classic", "hidden": 8}, "train": {"lr": 0.01},
    }  # fmt: skip
    return RunLine.model_validate(content | changes)


def row(**changes: Any) -> Row:
    content: dict[str, Any] = {
        "experiment": "table-3", "model": "lstm", "description": {"kind": "lstm"}, "key": "0123456789abcdef",
        "seed": 0, "epochs": 3, "task": "ecg", "data": {"kind": "ecg5000"}, "measure": "clean", "value": 97.0,
        "host": "here", "version": "1", "overrides": {"epochs": 3},
    }  # fmt: skip
    return Row.model_validate(content | changes)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    runs = [run(), run(key="f" * 16, seed=1)]
    rows = [row(), row(key="f" * 16, seed=1), row(measure="white", level=0.1)]
    return publish(tmp_path / "record", runs, rows)


@pytest.mark.parametrize("value", LIKE_JSON + TRICKY, ids=range(len(LIKE_JSON + TRICKY)))
def test_words_that_look_like_something_else_stay_words(tmp_path: Path, value: str) -> None:
    written = run(train={"word": value, "number": 1}, host=value)
    assert runs_in(publish(tmp_path / "record", [written], [])) == {written.key: written}


def test_the_tables_are_read_by_people(record: Path) -> None:
    head, *lines = (record / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("key,task,name,status,epochs,")
    assert head.endswith("seed,data.kind,model.kind,model.hidden,train.lr")
    assert lines[0].endswith(",0,ecg5000,classic,8,0.01")
    assert (record / "rows" / "some.csv").read_text(encoding="utf-8").count("epochs=3") == 3


def test_a_place_without_tables_has_none(tmp_path: Path) -> None:
    assert (runs_in(tmp_path), rows_in_record(tmp_path)) == ({}, [])


def without(column: str) -> Callable[[bytes], bytes]:
    """The table without a column, head and cells."""

    def damage(content: bytes) -> bytes:
        lines = [line.split(b",") for line in content.splitlines()]
        place = lines[0].index(column.encode())
        return b"".join(b",".join(line[:place] + line[place + 1 :]) + b"\n" for line in lines)

    return damage


def cell(column: str, value: bytes) -> Callable[[bytes], bytes]:
    """The table with another value in a column of its second line of content, the third of the file."""

    def damage(content: bytes) -> bytes:
        lines = [line.split(b",") for line in content.splitlines()]
        lines[2][lines[0].index(column.encode())] = value
        return b"".join(b",".join(line) + b"\n" for line in lines)

    return damage


def end(more: bytes) -> Callable[[bytes], bytes]:
    """The table with more at the end of its third line."""

    def damage(content: bytes) -> bytes:
        lines = content.splitlines()
        lines[2] += more
        return b"\n".join(lines) + b"\n"

    return damage


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes], int, str]] = {
    "rows without a column": ("rows/some.csv", without("value"), 2, "value"),
    "rows without keys": ("rows/some.csv", without("key"), 2, "no run"),
    "rows with one cell more": ("rows/some.csv", end(b",more"), 3, "number of cells"),
    "rows with one cell less": ("rows/some.csv", lambda content: content[: content.rindex(b",")] + b"\n", 4, "cells"),
    "rows in another encoding": ("rows/some.csv", cell("model", b"\xe9"), 3, "utf-8"),
    "rows with a word for a seed": ("rows/some.csv", cell("seed", b"zero"), 3, "seed"),
    "rows above a hundred": ("rows/some.csv", cell("value", b"101"), 3, "value"),
    "rows without a value": ("rows/some.csv", cell("value", b""), 3, "value"),
    "rows of no run": ("rows/some.csv", cell("key", b"0" * 16), 3, "no run '0000000000000000'"),
    "rows with half a pair": ("rows/some.csv", cell("overrides", b"epochs"), 3, "epochs"),
    "rows with half a value": ("rows/some.csv", cell("overrides", b"epochs={"), 3, "column"),
    "rows with a deep value": (
        "rows/some.csv",
        cell("overrides", b"epochs=" + b"[" * 100_000),
        3,
        "overrides|name=value",
    ),
    "rows with an open quote": ("rows/some.csv", cell("model", b'"lstm'), 3, "unexpected end"),
    "runs without a column": ("runs.csv", without("seed"), 2, "seed"),
    "runs with an unknown column": (
        "runs.csv",
        lambda content: content.replace(b"host", b"colour", 1),
        2,
        "host|colour",
    ),
    "runs with an unknown part": ("runs.csv", lambda content: content.replace(b"train.", b"trian.", 1), 2, "trian"),
    "runs with one cell more": ("runs.csv", end(b",more"), 3, "number of cells"),
    "runs in another encoding": ("runs.csv", cell("host", b"\xff"), 3, "utf-8"),
    "runs with a word for epochs": ("runs.csv", cell("epochs", b"three"), 3, "epochs"),
    "runs with a path for a name": ("runs.csv", cell("name", b"../../etc"), 3, "name"),
    "runs with a key of their own": ("runs.csv", cell("key", b"mine"), 3, "key"),
    "runs that stand there twice": ("runs.csv", cell("key", b"0123456789abcdef"), 3, "twice"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_sentence_with_file_and_line(record: Path, name: str) -> None:
    file, damage, number, word = DAMAGE[name]
    assert len(rows_in_record(record)) == 3
    path = record / file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(
        DamagedFile,
        match=rf"^\S+{file}, line {number} (cannot be used|is not) .*\(.*({word}).*\): restore the file from a copy\.$",
    ) as caught:
        rows_in_record(record)
    assert len(str(caught.value)) < 600
