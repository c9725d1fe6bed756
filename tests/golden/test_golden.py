"""What version 0.1 said of its runs, rows and report is still said: by keys, by rows, number by number.

The golden file was made by make.py, with version 0.1, from 373 directories of runs; the record holds the same results.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noisyrnn.experiments import Record, Run
from noisyrnn.reading import Results, read_results
from noisyrnn.report import labels, tell
from noisyrnn.report.text import document
from noisyrnn.rows import Row, distinct

HERE = Path(__file__).parent
RECORD = HERE.parents[1] / "results"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(gzip.decompress((HERE / "version-0.1.json.gz").read_bytes()))


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(golden: dict[str, Any]) -> list[Row]:
    """Those that version 0.1 made; what was measured since, on its networks and on others, stands beside them."""
    last = golden["report"]["provenance"]["last"]
    return [row for row in Record(RECORD).rows() if row.version == "0.1.0" and row.created <= last]


@pytest.fixture(scope="module")
def now(rows: list[Row]) -> dict[str, Any]:
    told, then = read_results(RECORD).experiments, {row.experiment for row in rows}
    known = {name: about for name, about in told.items() if name in then}
    results = Results(reading=distinct(rows), experiments=known)
    return json.loads(document(tell(results)))


def as_version_0_1_wrote(row: Row) -> dict[str, Any]:
    names = ("experiment", "key", "model", "seed", "measure", "level", "value", "samples", "epochs", "version",
             "seconds", "host", "created", "measurement")  # fmt: skip
    return {name: getattr(row, name) for name in names} | {"protocol": row.protocol_label, "data": labels.data(row)}


def test_every_key_is_what_it_was(golden: dict[str, Any]) -> None:
    assert len(golden["runs"]) == 373
    assert [Run.model_validate(run["spec"]).key for run in golden["runs"]] == [run["key"] for run in golden["runs"]]


def test_the_record_has_every_run_with_its_settings(golden: dict[str, Any]) -> None:
    lines = Record(RECORD).runs()
    for run in golden["runs"]:
        line = lines[run["key"]]
        told = Run.model_validate({"data": line.data, "model": line.model, "train": line.train, "seed": line.seed})
        assert told == Run.model_validate(run["spec"])


def test_the_rows_are_the_same(golden: dict[str, Any], make: ModuleType, rows: list[Row]) -> None:
    assert len(rows) == golden["rows"]["count"]
    assert make.digest([as_version_0_1_wrote(row) for row in rows]) == golden["rows"]["sha256"]


def test_tables_have_the_same_numbers(golden: dict[str, Any], now: dict[str, Any]) -> None:
    def cells(report: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
        own = ("table", "model", "protocol", "measure", "level")
        return {tuple(cell[name] for name in own): cell for cell in report["tables"]}

    before, after = cells(golden["report"]), cells(now)
    assert {key: after[key] for key in before} == before


def test_claims_have_the_same_intervals_and_verdicts(golden: dict[str, Any], now: dict[str, Any]) -> None:
    def claims(report: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        numbers = ("verdict", "seeds", "protocol", "difference", "low", "high", "paper")
        for one in report["claims"]:
            claim = {name: value for name, value in one["claim"].items() if name not in ("task", "chapter")}
            claim["column"] = tuple(claim["column"])
            yield tuple(value for _, value in sorted(claim.items())), {name: one[name] for name in numbers}

    before, after = dict(claims(golden["report"])), dict(claims(now))
    assert len(before) == 65
    assert before == after
    assert golden["report"]["counts"] == now["counts"]


def test_curves_have_the_same_points(golden: dict[str, Any], now: dict[str, Any]) -> None:
    def curves(report: dict[str, Any]) -> set[str]:
        return {
            json.dumps([panel["measure"], {**curve, "name": ""}], sort_keys=True)
            for figure in report["figures"]
            for panel in figure["panels"]
            for curve in panel["curves"]
        }

    before = curves(golden["report"])
    assert len(before) > 50
    assert before == curves(now)


def test_provenance_counts_the_same(golden: dict[str, Any], now: dict[str, Any]) -> None:
    before, after = (dict(report["provenance"]) for report in (golden["report"], now))
    assert before.pop("hours") == pytest.approx(after.pop("hours"))
    assert (before.pop("files"), after.pop("files")) == (373, 0)
    assert before == after
