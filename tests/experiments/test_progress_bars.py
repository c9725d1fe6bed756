"""Whoever looks on sees where runs stand, from any process, and nothing when they are over."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tiny import tiny

from noisyrnn.experiments import Result, rows, run, show_progress
from noisyrnn.experiments.store.progress_file import PROGRESS, Progress, ProgressFile, under_way


def test_a_run_tells_where_it_stands_while_it_works_and_not_after(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run(tiny(), tmp_path, watch=lambda label, seed, moment: seen.extend(under_way(tmp_path)))
    assert {progress.run for progress in seen} == {"lipschitz, seed 0", "nrnn, seed 0", "exprnn, seed 0"}
    assert seen[0].text.startswith("epoch 1 of 2, loss ")
    assert (seen[0].done, seen[0].total) == (1, 12)
    assert under_way(tmp_path) == []
    assert not list(tmp_path.rglob(PROGRESS))


def test_files_of_the_dead_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    for name in ("old", "torn"):
        ProgressFile(tmp_path / name, name)("epoch 1 of 2", 1, 2)
    os.utime(tmp_path / "old" / PROGRESS, (time.time() - 1000,) * 2)
    (tmp_path / "torn" / PROGRESS).write_text('{"run": "to')
    ProgressFile(tmp_path / "odd", "odd")("epoch 1 of 2", 1, 2)
    (tmp_path / "odd" / PROGRESS).write_text('{"run": 1, "text": [], "done": "x", "total": null}')
    assert under_way(tmp_path) == []


def test_a_progress_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    experiment = tiny()
    for _, one in experiment.runs():
        (tmp_path / one.key / PROGRESS).mkdir(parents=True)  # where the file would go
    outcome = run(experiment, tmp_path)
    assert outcome.complete
    assert len(rows(tmp_path)) == 6


def test_on_a_terminal_runs_of_other_processes_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with show_progress(tmp_path) as done:
        ProgressFile(tmp_path / "key", "lipschitz, seed 0")("epoch 3 of 9", 3, 9)
        time.sleep(1.5)
        done(Result(label="lstm", seed=1, key="other", seconds=2.0), 2)
    assert "lipschitz, seed 0: epoch 3 of 9" in capsys.readouterr().err


def test_elsewhere_each_run_is_one_line_however_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label = "nrnn mult 0.03 add 0.06 input noise 0.8 fgsm training 0.1 and more words than a line has room for"
    with show_progress(tmp_path) as done:
        done(Result(label=label, seed=1, key="k", seconds=2.0, rows=7), 2)
        done(Result(label="lstm", seed=0, key="k", seconds=2.0, failure="It left the finite numbers."), 2)
    assert capsys.readouterr().err.splitlines() == [f"{label}, seed 1: 7 new rows, 2 s", "lstm, seed 0: failed, 2 s"]
    with show_progress(tmp_path, quiet=True) as done:
        done(Result(label=label, seed=1, key="k", seconds=2.0), 2)
    assert capsys.readouterr().err == ""
