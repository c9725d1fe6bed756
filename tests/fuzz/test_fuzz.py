"""Two thousand damaged files and senseless arguments, and what Hypothesis thinks of: sentences, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisyrnn.data import Columns, DataError
from noisyrnn.data.formats import contents
from noisyrnn.experiments import EXPERIMENTS, override, reduced
from noisyrnn.models import Noisy
from noisyrnn.setting import InvalidSetting
from noisyrnn.train import Train

HARNESS = Path(__file__).with_name("harness.py")


@pytest.mark.skipif(sys.platform != "linux", reason="memory and time are limited as on Linux")
def test_two_thousand_cases_are_answered_or_refused_in_a_sentence() -> None:
    """No traceback, nothing over ten seconds, less than two gigabytes; ``make fuzz`` runs more."""
    command = [sys.executable, HARNESS, "--cases", "2000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout, done.stderr[-3000:]
    told = json.loads(done.stdout)
    findings = [case for one in told["targets"].values() for case in one["findings"].items()]
    assert not findings, findings
    counts = {name: one["answered"] + one["refused"] for name, one in told["targets"].items()}
    assert sum(counts.values()) > 1900
    assert min(counts.values()) > 0
    assert sum(one["answered"] for one in told["targets"].values()) > 200, "much damage is harmless, and must be"
    assert told["memory"] < 2 * 2**30


def tried(call: Callable[[], Any], refusal: type[Exception]) -> Any:
    """What a call gives, or None if it was refused in one line."""
    said = ""
    try:
        return call()
    except refusal as error:
        said = str(error)
    assert len(said.splitlines()) == 1
    return None


texts = st.text(st.characters(codec="utf-8"), max_size=60)
odd = st.sampled_from(["", "?", "NaN", '"', "label", "y"])
cells = st.one_of(st.floats().map(str), st.integers().map(str), odd, texts)
formats = st.sampled_from([(".csv", ","), (".csv", ";"), (".tsv", "\t"), (".txt", " "), (".ts", ":"), (".arff", ",")])


@settings(max_examples=300)
@given(
    rows=st.lists(st.lists(cells, max_size=5), max_size=6),
    form=formats,
    label=st.one_of(st.none(), st.integers(-9, 9), st.just("label")),
    case=st.sampled_from([None, "label", "y"]),
    padded=st.booleans(),
    head=st.sampled_from(["", "@classLabel true a b\n@data\n", "@attribute a real\n@attribute b {x}\n@data\n"]),
)
def test_any_text_is_a_table_or_refused(rows, form, label, case, padded, head) -> None:
    ending, delimiter = form
    text = head + "\n".join(delimiter.join(row) for row in rows)
    columns = Columns(label=label, case=case, padded=padded)
    found = tried(lambda: contents(text.encode(), f"own{ending}", columns), DataError)
    assert found is None or (found.x.ndim == 3 and len(found.x) > 0)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
names = st.one_of(texts, st.sampled_from(["hidden", "dt", "epochs", "decay"]))


@settings(max_examples=200)
@given(kind=st.sampled_from([Noisy, Train]), name=names, value=json_values)
def test_any_setting_is_one_or_refused(kind, name, value) -> None:
    made = tried(lambda: kind(**{name: value}), InvalidSetting)
    assert made is None or kind.model_validate_json(made.model_dump_json()) == made


@settings(max_examples=200)
@given(key=st.one_of(texts, st.sampled_from(["train.lr", "model.hidden", "data.classes", "train.decay"])), value=texts)
def test_any_override_is_one_or_refused(key, value) -> None:
    tried(lambda: reduced(EXPERIMENTS["demo"], overrides=dict([override(f"{key}={value}")])), ValueError)
