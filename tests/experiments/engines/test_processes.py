"""Engines: workers do not outlive the process that they work for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny import preloaded, tiny

from noisyrnn.experiments import Joblib, rows, run
from noisyrnn.experiments.engines import Lost
from noisyrnn.experiments.engines.processes import _begin

WORKERS = """
import os, sys, time
from pathlib import Path
from noisyrnn.experiments.engines import Joblib

def work(place):
    Path(place).write_text(str(os.getpid()))
    time.sleep(300)

list(Joblib(workers=2)(work, sys.argv[1:]))
"""


def alive(pid: int) -> bool:
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(said.strip()) and not said.startswith("Z")


def eventually(happened, seconds: float = 120.0) -> bool:
    end = time.monotonic() + seconds
    while not happened() and time.monotonic() < end:
        time.sleep(0.1)
    return happened()


def test_workers_go_when_their_parent_is_killed(tmp_path: Path) -> None:
    places = [tmp_path / "first", tmp_path / "second"]
    parent = subprocess.Popen([sys.executable, "-c", WORKERS, *map(str, places)])
    try:
        assert eventually(lambda: all(place.exists() and place.read_text() for place in places))
    finally:
        parent.kill()
        parent.wait()
    pids = [int(place.read_text()) for place in places]
    assert eventually(lambda: not any(map(alive, pids)), seconds=60)


def idle(parent: int) -> None:
    """A worker that has begun and waits for its first job."""
    _begin(parent)
    time.sleep(300)


def test_a_worker_goes_whose_parent_died_before_its_first_job() -> None:
    """The parent of this process is the server that it was forked from: whom it is told of is gone already."""
    nobody = subprocess.Popen(["true"])
    nobody.wait()
    worker = preloaded().Process(target=idle, args=(nobody.pid,))
    worker.start()
    worker.join(120)
    assert worker.exitcode == -signal.SIGTERM


def test_a_job_that_kills_its_worker_is_given_up_and_all_others_are_done(tmp_path: Path) -> None:
    def deadly(job: tuple[str, Path]) -> str:
        """Kills its own process at some jobs; counts how often each was tried."""
        name, place = job
        with (place / name).open("a") as tries:
            tries.write("x")
        if name == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        return name

    names = ["a", "deadly", "b", "c"]
    answers = list(Joblib(workers=2, retries=0)(deadly, [(name, tmp_path) for name in names]))
    [lost] = [answer for answer in answers if isinstance(answer, Lost)]
    assert lost.job[0] == "deadly"
    assert "SIGKILL" in lost.reason
    assert sorted(answer for answer in answers if not isinstance(answer, Lost)) == ["a", "b", "c"]
    # Once if it was alone; else once among others, and once alone to make sure.
    assert (tmp_path / "deadly").read_text() in ("x", "xx")


def test_an_exception_of_the_function_is_raised_here() -> None:
    def failing(job: int) -> int:
        if job == 1:
            raise ZeroDivisionError("one")
        return job

    with pytest.raises(ZeroDivisionError, match="one"):
        list(Joblib(workers=2)(failing, [0, 1, 2]))


def test_a_run_whose_worker_dies_is_one_sentence_and_the_sweep_goes_on(tmp_path: Path) -> None:
    class Mortal:
        """Loses the jobs of one model."""

        local = False

        def __call__(self, work, jobs):
            yield from (
                Lost(job, "the process ended with SIGKILL(-9)") if job.label == "nrnn" else work(job) for job in jobs
            )

    outcome = run(tiny(), tmp_path, engine=Mortal())
    assert list(outcome.failures) == ["nrnn, seed 0"]
    assert outcome.failures["nrnn, seed 0"].startswith("the process ended with SIGKILL(-9), again and again: perhaps")
    assert {row.model for row in rows(tmp_path)} == {"lipschitz", "exprnn"}
