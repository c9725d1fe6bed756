"""Commands as a newcomer meets them: help with examples, JSON for scripts, one sentence for mistakes."""

import json
import os
import subprocess
import sys

import pytest

COMMANDS = [["demo"], ["list"], ["run"], ["record"], ["report"], ["bench"], ["data", "list"], ["data", "get"]]
COMMANDS += [["fit"], ["predict"], ["evaluate"], ["export"]]


def noisyrnn(*words, cwd=None, **environment):
    command = [sys.executable, "-c", "from noisyrnn.cli import main; main()", *map(str, words)]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100", **environment}
    return subprocess.run(command, capture_output=True, text=True, env=variables, cwd=cwd, timeout=240, check=False)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(command):
    shown = noisyrnn(*command, "--help")
    assert shown.returncode == 0
    assert f"Example: noisyrnn {' '.join(command)}" in " ".join(shown.stdout.split())


def test_version_says_which_kernel_runs():
    assert "Native kernel" in noisyrnn("--version").stdout
    assert "NOISYRNN_NATIVE=0 is set" in noisyrnn("--version", NOISYRNN_NATIVE="0").stdout


def test_lists_are_complete_and_readable_by_scripts():
    found = json.loads(noisyrnn("list", "--json").stdout)
    known = {"noisy", "lipschitz", "antisymmetric", "cornn", "exprnn", "classic", "certified"}
    assert known <= set(found["models"])
    assert {"table-1", "table-2", "table-3", "table-5", "figure-1", "figure-2", "figure-4"} <= set(found["experiments"])
    assert {"fgsm", "pgd", "apgd", "square", "union"} == set(found["attacks"])
    assert all(text for entries in (found[part] for part in found if part != "kernel") for text in entries.values())
    names = [entry["name"] for entry in json.loads(noisyrnn("data", "list", "--json").stdout)]
    assert {"digits", "mnist", "ecg5000"} <= set(names)


MISTAKES = {
    "unknown experiment": (["run", "table-9"], "There is no experiment 'table-9'"),
    "unknown key": (["run", "table-3", "--set", "train.rate=1"], "train.rate"),
    "no value": (["run", "table-3", "--set", "train.lr"], "key=value"),
    "no rows": (["report", "."], "rows"),
    "no directory": (["report", "nowhere"], "nowhere"),
    "unknown data": (["data", "get", "mnits"], "did you mean mnist"),
}


@pytest.mark.parametrize("name", list(MISTAKES))
def test_mistakes_get_one_sentence_and_a_failing_exit_code(name, tmp_path):
    words, sentence = MISTAKES[name]
    done = noisyrnn(*words, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_unknown_option_is_a_usage_error(tmp_path):
    assert noisyrnn("run", "table-3", "--sed", "1", cwd=tmp_path).returncode == 2


def test_run_and_report_make_a_page_and_do_nothing_twice(tmp_path):
    words = ["run", "demo", "--out", tmp_path / "runs", "--epochs", "1", "--seeds", "1", "--json"]
    first = noisyrnn(*words)
    assert first.returncode == 0, first.stderr
    assert all(result["rows"] > 0 for result in json.loads(first.stdout))
    again = json.loads(noisyrnn(*words).stdout)
    assert all(result["rows"] == 0 and not result["trained"] for result in again)
    paths = json.loads(noisyrnn("report", tmp_path / "runs", "--out", tmp_path / "page", "--json").stdout)
    page = (tmp_path / "page" / "report.html").read_text()
    assert str(tmp_path / "page" / "report.html") == paths["html"]
    assert "reduced" in page or "ours" in page
    assert "<svg" in page
