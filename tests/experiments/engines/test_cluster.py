"""Ray gives what the other engines give; without it, one sentence. Run by `make ray`, where Ray is installed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import torch
from tiny import tiny

from noisyrnn.experiments import Joblib, Ray, Serial, rows, run
from noisyrnn.experiments.engines import Lost

# A cluster takes its time to start, so that it has a target of its own.
installed = pytest.mark.skipif("NOISYRNN_RAY" not in os.environ, reason="needs Ray: make ray")


def test_without_ray_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"^The engine ray is not installed: pip install 'noisyrnn\[ray\]'\.$"):
        list(Ray()(abs, [1]))


@installed
@pytest.mark.timeout(300)
def test_the_same_sweep_by_each_engine_gives_the_same_rows(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    found = {}
    for engine in (Serial(), Joblib(workers=2), Ray(workers=2)):
        place = tmp_path / type(engine).__name__
        assert run(tiny(seeds=4, epochs=1), place, engine=engine).complete
        found[type(engine).__name__] = {row.cell: row.value for row in rows(place)}
    assert len(found["Serial"]) == 24
    assert found["Serial"] == found["Joblib"] == found["Ray"]


@installed
@pytest.mark.timeout(300)
def test_a_job_that_kills_its_worker_is_given_up_and_all_others_are_done() -> None:
    def deadly(job: int) -> int:
        if job == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    answers = list(Ray(workers=2, retries=1)(deadly, [0, 1, 2, 3]))
    [lost] = [answer for answer in answers if isinstance(answer, Lost)]
    assert lost.job == 1
    assert sorted(answer for answer in answers if not isinstance(answer, Lost)) == [0, 2, 3]


@installed
def test_a_wrong_address_is_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"There is no Ray at 127\.0\.0\.1:1 .*; check the address"):
        list(Ray(address="127.0.0.1:1")(abs, [1]))
