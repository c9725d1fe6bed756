"""The page of promises: every test that it names exists, and its figures are those that are stated in the code."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from noisyrnn.data.limit import VARIABLE, limit
from noisyrnn.experiments.spec import MOST_SEEDS
from noisyrnn.models import Noisy
from noisyrnn.train.setting import LONGEST

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reliability.md").read_text()


def test_every_promise_names_a_test_that_exists() -> None:
    promises = [line for line in PAGE.split("\nThe limit for")[0].splitlines() if re.match(r"\| (?!promise)", line)]
    assert len(promises) > 20
    for line in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)
        assert named, line
        for file, test in named:
            tree = ast.parse((ROOT / file).read_text())
            assert test in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}, f"{file}::{test}"


def test_the_times_of_wide_tables_are_those_that_were_measured() -> None:
    found = json.loads((ROOT / "studies/wide_tables.json").read_text())
    assert f"wide_tables.py --rounds {found['rounds']}`" in PAGE
    for one in found["files"]:
        readers = (one["noisyrnn"], one["pyarrow"])
        told = [f"{reader['seconds']:.1f} s, {reader['megabytes']:,} MB" for reader in readers]
        name = f"{one['columns']:,} columns x {one['rows']:,} rows, {one['megabytes']} MB"
        assert f"| {' | '.join([name, *told])} |" in PAGE


def test_the_limits_on_the_page_are_those_in_the_code() -> None:
    def most(name: str) -> int:
        return next(mark.le for mark in Noisy.model_fields[name].metadata if hasattr(mark, "le"))

    stated = f"{most('hidden'):,} units, {most('num_layers')} layers, {most('substeps'):,} substeps"
    assert stated in " ".join(PAGE.split())
    assert f"{LONGEST:,} epochs, {MOST_SEEDS:,} seeds" in " ".join(PAGE.split())
    assert f"{limit() // 2**20} MB" in PAGE
    assert VARIABLE in PAGE
