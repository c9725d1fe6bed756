"""The runner: nothing twice, nothing lost, the same weights and rows after any death."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny import preloaded, tiny, work

from noisyrnn.checkpoint import load
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Joblib, rows, run
from noisyrnn.experiments.measure import selection, splits_of
from noisyrnn.experiments.spec import Measurement
from noisyrnn.experiments.store.lease import MARKER, hold_lease
from noisyrnn.experiments.store.progress_file import PROGRESS
from noisyrnn.experiments.store.run_directory import DONE, SPEC, RunDirectory
from noisyrnn.perturb import White
from noisyrnn.sde.brownian import CONTRACT

KILLS = 20


class Started:
    """The tiny experiment in a process of its own."""

    def __init__(self, directory: Path, *, seeds: int = 1, epochs: int = 2, limit: int | None = None) -> None:
        context = preloaded()
        self.answer, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(str(directory), seeds, epochs, limit, theirs))
        self.process.start()
        theirs.close()

    def told(self) -> tuple[int, list[str], dict[str, str]]:
        """Number of runs trained, runs in other hands, failures."""
        told = self.answer.recv()
        self.process.join()
        return told

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Weights are the same bit by bit for the same number of threads only."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def values(directory: Path) -> dict[tuple, float]:
    lines = [
        json.loads(line) for path in directory.rglob("rows-*.jsonl") for line in path.read_bytes().split(b"\n")[:-1]
    ]
    found = {(row["model"], row["seed"], row["measure"], row["level"]): row["value"] for row in lines}
    assert len(found) == len(lines), "a row was written twice"
    return found


def tensors(directory: Path) -> dict[str, torch.Tensor]:
    return {
        f"{path.parent.name}/{part}/{name}": tensor
        for path in networks(directory)
        for part in ("network", "optimiser", "generators")
        for name, tensor in getattr(load(path), part).items()
    }


def networks(directory: Path) -> list[Path]:
    """The files that DONE names."""
    found = []
    for spec in sorted(directory.rglob(SPEC)):
        done = RunDirectory(spec.parent).done()
        assert done is not None, "the run is not finished"
        found.append(spec.with_name(done.files["network"].name))
    return found


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.timeout(600)
def test_kills_at_random_moments_change_nothing(tmp_path: Path) -> None:
    """The process is killed while it works; the next one continues; at the end all is as if nothing had happened."""
    epochs, dice, cut_short = 24, random.Random(0), 0
    began = time.monotonic()
    assert run(tiny(epochs=epochs), tmp_path / "whole").complete
    most = min(0.3, (time.monotonic() - began) / KILLS)  # a fast machine is killed sooner, before it is done
    directory = tmp_path / "killed"
    for _ in range(KILLS):
        started = Started(directory, epochs=epochs)
        while started.process.is_alive() and not list(directory.rglob("lease")):
            time.sleep(0.001)
        time.sleep(dice.uniform(0, most))
        cut_short += started.process.is_alive()
        started.kill()
    _, busy, failures = Started(directory, epochs=epochs).told()
    assert cut_short >= KILLS // 2
    assert (busy, failures) == ([], {})
    assert same(tensors(directory), tensors(tmp_path / "whole"))
    assert values(directory) == values(tmp_path / "whole")
    assert not list(directory.rglob("lease"))
    assert not list(directory.rglob("progress.json"))
    for place in directory.glob(f"*/{SPEC}"):
        assert len(list(place.parent.glob("state-*"))) == 1, "states that nobody will read are removed"


@pytest.mark.timeout(600)
def test_two_runners_never_do_the_same_run(tmp_path: Path) -> None:
    both = [Started(tmp_path, seeds=2, epochs=3) for _ in range(2)]
    told = [started.told() for started in both]
    assert sum(trained for trained, _, _ in told) == 6, "each of the six runs is trained once"
    assert all(failures == {} for _, _, failures in told)
    run(tiny(seeds=2, epochs=3), tmp_path)
    assert len(values(tmp_path)) == 12


def test_what_is_done_is_skipped_and_tables_share_runs(tmp_path: Path) -> None:
    first = run(tiny(), tmp_path)
    assert [result.trained for result in first.results] == [True] * 3
    again = run(tiny(), tmp_path)
    assert [(result.trained, result.rows) for result in again.results] == [(False, 0)] * 3
    curves = tiny(name="curves", measures=(Clean(), White(sigma=0.1), White(sigma=0.2)))
    more = run([tiny(), curves], tmp_path)
    assert [(result.trained, result.rows) for result in more.results] == [(False, 3)] * 3
    found = {(row.experiment, row.model, row.measure, row.level): row.value for row in rows(tmp_path)}
    assert found["curves", "nrnn", "white", 0.1] == found["tiny", "nrnn", "white", 0.1]
    assert len(found) == 3 * (2 + 3)


def test_rows_say_everything_and_models_see_the_same_perturbations(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    row = next(row for row in rows(tmp_path) if (row.model, row.measure) == ("nrnn", "white"))
    assert (row.samples, row.epochs, row.protocol, row.overrides) == (397, 2, "paper", {})
    assert (row.task, row.data, row.part) == ("digits", {"kind": "digits", "reading": "rows"}, "test")
    assert (row.description.kind, row.description.strengths) == ("noisy", (0.1, 0.1))
    assert (row.description.convention, row.contract, row.verified) == ("released", CONTRACT, True)
    assert 0 <= row.value <= 100
    assert row.seconds > 0
    assert "thread" in row.host
    # Two labels for the same model: equal values mean equal draws.
    twin = tiny(name="twin")
    recipe = twin.recipes["lipschitz"]
    other = recipe.model_copy(update={"train": recipe.train.model_copy(update={"weight_decay": 1e-30})})
    run(twin.model_copy(update={"recipes": {"one": recipe, "two": other}}), tmp_path)
    found = {row.model: row.value for row in rows(tmp_path) if row.experiment == "twin" and row.level == 0.1}
    assert found["one"] == found["two"]


def test_joblib_gives_what_serial_gives(tmp_path: Path) -> None:
    run(tiny(epochs=1), tmp_path / "serial")
    outcome = run(tiny(epochs=1), tmp_path / "joblib", engine=Joblib(workers=2))
    assert outcome.complete
    assert same(tensors(tmp_path / "serial"), tensors(tmp_path / "joblib"))
    assert values(tmp_path / "serial") == values(tmp_path / "joblib")


def test_more_epochs_inherit_from_a_shorter_run(tmp_path: Path) -> None:
    def scheduled(epochs: int, decay: dict[int, float]):
        experiment = tiny(epochs=epochs)
        recipe = experiment.recipes["nrnn"]
        train = recipe.train.model_copy(update={"decay": decay})
        return experiment.model_copy(update={"recipes": {"nrnn": recipe.model_copy(update={"train": train})}})

    watched: list[int] = []
    run(scheduled(3, {1: 0.1}), tmp_path / "grown")
    assert list((tmp_path / "grown").rglob("branch-*.safetensors"))
    run(scheduled(5, {3: 0.1}), tmp_path / "grown", watch=lambda label, seed, moment: watched.append(moment.epoch))
    run(scheduled(5, {3: 0.1}), tmp_path / "whole")
    assert sorted(set(watched)) == [3, 4, 5]
    whole = tensors(tmp_path / "whole")
    grown = {name: tensor for name, tensor in tensors(tmp_path / "grown").items() if name in whole}
    assert same(grown, whole)


def test_a_failing_run_does_not_stop_the_others_or_touch_results(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    before = values(tmp_path)
    place = next(path.parent for path in tmp_path.rglob(SPEC) if '"noisy"' in path.read_text())
    [network] = [path for path in networks(tmp_path) if path.parent == place]
    network.write_bytes(network.read_bytes()[:-1])
    outcome = run([tiny(), tiny(name="more", measures=(White(sigma=0.3),))], tmp_path)
    assert list(outcome.failures) == ["nrnn, seed 0"]
    assert "is not the file that the run was finished with" in outcome.failures["nrnn, seed 0"]
    assert "\n" not in outcome.failures["nrnn, seed 0"]
    assert not outcome.complete
    assert before.items() <= values(tmp_path).items()
    assert len(values(tmp_path)) == len(before) + 2
    network.unlink()
    assert run(tiny(name="copied"), tmp_path).complete  # measured before, so that no network is needed
    outcome = run(tiny(name="more", measures=(White(sigma=0.3),)), tmp_path)
    assert "so nothing more can be measured: put it back, or remove" in outcome.failures["nrnn, seed 0"]
    (place / DONE).unlink()
    assert run(tiny(name="more", measures=(White(sigma=0.3),)), tmp_path).complete


def test_divergence_is_a_failure_of_its_run_only(tmp_path: Path) -> None:
    experiment = tiny(epochs=3)
    recipe = experiment.recipes["lipschitz"]
    wild = recipe.model_copy(update={"train": recipe.train.model_copy(update={"lr": 1e37})})
    outcome = run(experiment.model_copy(update={"recipes": {"wild": wild, **experiment.recipes}}), tmp_path)
    assert list(outcome.failures) == ["wild, seed 0"]
    assert "left the finite numbers" in outcome.failures["wild, seed 0"]
    assert len(rows(tmp_path)) == 6


def test_an_unwritable_directory_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"cannot be used \(.*\): choose a directory"):
        run(tiny(), tmp_path / "file" / "out")


def test_a_full_disk_is_one_sentence_and_earlier_rows_stay(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    before = values(tmp_path)
    _, _, failures = Started(tmp_path, seeds=2, limit=4000).told()
    assert len(failures) == 3
    for failure in failures.values():
        assert "cannot be written (File too large): free space" in failure
        assert "\n" not in failure
    assert values(tmp_path) == before
    assert run(tiny(seeds=2), tmp_path).complete
    assert before.items() <= values(tmp_path).items()


def test_rows_cut_off_by_a_crash_are_written_again(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    before = values(tmp_path)
    path = sorted(tmp_path.rglob("rows-*.jsonl"))[0]
    path.write_bytes(path.read_bytes()[:-7])
    assert len(rows(tmp_path)) == len(before) - 1
    run(tiny(), tmp_path)
    assert {row.cell: row.value for row in rows(tmp_path)}.keys() == {*(row.cell for row in rows(tmp_path))}
    assert values(tmp_path) == before


def test_reduced_rows_become_the_papers_when_the_paper_is_run(tmp_path: Path) -> None:
    experiment = tiny()
    run(experiment.model_copy(update={"overrides": {"seeds": 1}}), tmp_path)
    assert {row.protocol_label for row in rows(tmp_path)} == {"reduced: seeds 1"}
    again = run(experiment, tmp_path)
    assert [result.trained for result in again.results] == [False] * 3
    run(experiment.model_copy(update={"overrides": {"seeds": 1}}), tmp_path)
    assert [row.protocol_label for row in rows(tmp_path)] == ["paper"] * 6


def test_an_option_that_is_wrong_for_all_runs_is_refused_before_any_begins(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="every counts batches between checkpoints and must be at least 1, got 0"):
        run(tiny(), tmp_path / "out", every=0)
    assert not (tmp_path / "out").exists()


def test_a_choice_of_samples_is_the_same_each_time() -> None:
    splits = splits_of(tiny().data)
    measurement = Measurement(measure=Clean(), samples=50)
    one, two = selection(splits, measurement), selection(splits, measurement)
    assert torch.equal(one.x, two.x)
    assert len(one) == 50
    assert len(one.y.unique()) > 5


def test_of_who_died_at_the_end_of_a_complete_run_nothing_stays(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    place = next(path.parent for path in tmp_path.glob("*/DONE"))
    with hold_lease(place):
        told = (place / MARKER).read_text()
    gone = preloaded().Process(target=int)
    gone.start()
    gone.join()
    (place / MARKER).write_text(told.replace(f"pid={os.getpid()}", f"pid={gone.pid}"))
    (place / PROGRESS).write_text("{}")
    assert run(tiny(), tmp_path).complete
    assert not (place / MARKER).exists()
    assert not (place / PROGRESS).exists()


def test_ctrl_c_gives_the_lease_back(tmp_path: Path) -> None:
    def interrupt(label: str, seed: int, moment) -> None:
        if moment.epoch == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(tiny(), tmp_path, watch=interrupt)
    assert not list(tmp_path.rglob("lease"))
    assert list(tmp_path.rglob("state-*.safetensors"))
    assert run(tiny(), tmp_path).complete
