"""Runs of version 0.1 go on and are read: one that was killed in its fourth epoch, one that was finished."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from noisyrnn.checkpoint import Checkpoint, load
from noisyrnn.data import Digits
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Experiment, Measurement, Recipe, rows, run
from noisyrnn.experiments.store.run_directory import RunDirectory
from noisyrnn.models import Noisy
from noisyrnn.perturb import White
from noisyrnn.sde.brownian import CONTRACT
from noisyrnn.train import Moment, Train

HERE = Path(__file__).parent
KEY = "d26d1c9b9da318c1"


def experiment(*sigmas: float) -> Experiment:
    return Experiment(
        name="tiny",
        data=Digits(reading="rows"),
        seeds=1,
        recipes={
            "nrnn mult 0.02 add 0.05": Recipe(
                model=Noisy(hidden=4, additive=0.05, multiplicative=0.02),
                train=Train(epochs=5, batch=300, decay={1: 0.5}),
            )
        },
        measurements=(Measurement(measure=Clean()), *(Measurement(measure=White(sigma=sigma)) for sigma in sigmas)),
    )


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def network(directory: Path) -> Checkpoint:
    place = RunDirectory(directory / KEY)
    done = place.done()
    assert done is not None
    assert done.contract == CONTRACT
    checkpoint = place.network(done)
    assert checkpoint is not None
    return checkpoint


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """With other noise: version 0.1 had contract 1. Equal bits are promised from there on, within contract 2."""
    before = load(HERE / "killed-0.1" / KEY / "checkpoint.safetensors").header
    assert before.contracts == (1,)
    for name in ("killed", "killed again"):
        shutil.copytree(HERE / "killed-0.1", tmp_path / name)
    seen: list[tuple[int, int]] = []
    outcome = run(
        experiment(0.2),
        tmp_path / "killed",
        watch=lambda label, seed, moment: seen.append((moment.epoch, moment.batch)),
    )
    assert outcome.complete
    assert seen[0] == (4, 2)
    killed = network(tmp_path / "killed")
    assert killed.header.contracts == (1, CONTRACT)
    assert killed.header.position["history"][:3] == before.position["history"]
    assert len(killed.header.position["history"]) == 5

    def stop(label: str, seed: int, moment: Moment) -> None:
        if (moment.epoch, moment.batch) == (5, 2):
            raise RuntimeError("killed again")

    assert run(experiment(0.2), tmp_path / "killed again", every=1, watch=stop).failures
    assert run(experiment(0.2), tmp_path / "killed again").complete
    again = network(tmp_path / "killed again")
    assert again.header.contracts == (1, CONTRACT)
    assert all(torch.equal(killed.network[name], again.network[name]) for name in killed.network)

    run(experiment(0.2), tmp_path / "whole")
    assert network(tmp_path / "whole").header.contracts == (CONTRACT,)


def test_a_finished_run_is_not_trained_again_and_more_is_measured_on_it(tmp_path: Path) -> None:
    shutil.copytree(HERE / "finished-0.1", tmp_path / "runs")
    [again] = run(experiment(0.2), tmp_path / "runs").results
    assert (again.trained, again.rows, again.failure) == (False, 0, None)
    [more] = run(experiment(0.2, 0.3), tmp_path / "runs").results
    assert (more.trained, more.rows) == (False, 1)
    assert [(row.measure, row.level) for row in rows(tmp_path / "runs")] == [("white", 0.3)]
    told = RunDirectory(tmp_path / "runs" / KEY).rows()
    assert {(row.measure, row.level) for row in told} == {("clean", 0.0), ("white", 0.2), ("white", 0.3)}
    assert {row.description.strengths for row in told} == {(0.02, 0.05)}
