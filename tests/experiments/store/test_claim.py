"""Claims fence: what a late hand writes is never read, and DONE is made once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tiny import tiny

from noisyrnn.disk import DamagedFile
from noisyrnn.experiments import rows, run
from noisyrnn.experiments.plan import jobs
from noisyrnn.experiments.runner import perform
from noisyrnn.experiments.spec import Run
from noisyrnn.experiments.store.claim import Claim, take_claim
from noisyrnn.experiments.store.run_directory import DONE, RunDirectory
from noisyrnn.perturb import White
from noisyrnn.train import Moment


def one_run() -> Run:
    return next(run for label, run in tiny(epochs=4).runs() if label == "nrnn")


def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    place = RunDirectory(tmp_path / one_run().key)
    place.path.mkdir()
    numbers = [take_claim(place, one_run()).number for _ in range(5)]
    assert numbers == [1, 2, 3, 4, 5]
    assert [path.name for path in place.path.glob("claim-*")] == ["claim-5"]


def test_a_runner_that_wakes_up_late_changes_nothing(tmp_path: Path) -> None:
    """A stops in the middle, B takes over and finishes, A wakes up and saves its old state: all is as B left it."""
    experiment = tiny(epochs=4)
    job = next(job for job in jobs([experiment]) if job.label == "nrnn")
    place = RunDirectory.of(job.run, tmp_path)

    def interrupt(label: str, seed: int, moment: Moment) -> None:
        if moment.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(job, directory=tmp_path, watch=interrupt)
    first = Claim(place, 1)
    half_trained = first.state.read_bytes()

    assert perform(job, directory=tmp_path).trained
    done, told = place.done(), (place.path / DONE).read_bytes()
    assert done is not None
    values = {row.cell: row.value for row in rows(tmp_path)}

    first.state.write_bytes(half_trained)
    first.branch.write_bytes(half_trained)
    first.finish(done)
    assert (place.path / DONE).read_bytes() == told, "DONE is made once"
    first.state.write_bytes(half_trained)  # and once more, for good

    more = tiny(epochs=4, name="later", measures=(White(sigma=0.3),))
    assert run([experiment, more], tmp_path).complete
    run([experiment, more], tmp_path / "undisturbed")
    after = {row.cell: row.value for row in rows(tmp_path / "undisturbed")}
    assert values.items() <= after.items()
    assert {row.cell: row.value for path in tmp_path.glob("*/rows-*") for row in rows(path.parent)} == after


def test_what_done_names_must_be_what_it_was(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    place = RunDirectory(next(tmp_path.rglob(DONE)).parent)
    done = place.done()
    assert done is not None
    path = place.path / done.files["network"].name
    other = next(file for file in tmp_path.rglob("state-*") if file != path)
    path.write_bytes(other.read_bytes())  # a sound checkpoint, but not the one
    with pytest.raises(ValueError, match="is not the file that the run was finished with"):
        place.network(done)


DAMAGE = [b"", b"[]", b"{}", b"3", b"\xff\xfe\x00", b"[" * 100_000, b'{"epochs": "x"}', b'{"epochs": 1e999}', b"null"]


@pytest.mark.parametrize("content", DAMAGE, ids=lambda content: repr(content[:20]))
@pytest.mark.parametrize("name", [DONE, "spec.json", "rows-1.jsonl"])
def test_damage_of_any_kind_is_one_sentence_of_its_run_and_the_others_go_on(
    tmp_path: Path, name: str, content: bytes
) -> None:
    experiment = tiny()
    job = next(job for job in jobs([experiment]) if job.label == "nrnn")
    place = RunDirectory.of(job.run, tmp_path)
    perform(job, directory=tmp_path)
    (place.path / name).write_bytes(content + (b"\n" if name.endswith("jsonl") else b""))
    outcome = run(tiny(name="more", measures=(White(sigma=0.3),)), tmp_path)
    if name.endswith("jsonl") and not content:
        assert outcome.complete, "an empty file of rows has none, and says nothing wrong"
        return
    [(label, failure)] = outcome.failures.items()
    assert label == "nrnn, seed 0"
    assert str(place.path) in failure
    assert "\n" not in failure
    assert "Error:" not in failure
    assert [result.rows for result in outcome.results if not result.failure] == [1, 1]


def test_a_name_that_no_disk_takes_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    place = RunDirectory(next(path.parent for path in tmp_path.rglob(DONE)))
    told = json.loads((place.path / DONE).read_bytes())
    told["files"]["network"]["name"] = "x" * 5000
    (place.path / DONE).write_text(json.dumps(told))
    with pytest.raises(DamagedFile, match=r"files\.network\.name") as caught:
        place.done()
    assert len(str(caught.value)) < 1000


def test_links_in_the_directory_are_not_followed(tmp_path: Path) -> None:
    run(tiny(), tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = next(path.parent for path in tmp_path.rglob(DONE))
    claim = take_claim(RunDirectory(place), RunDirectory(place).spec())
    row = rows(tmp_path)[0]
    claim.rows.symlink_to(victim)
    with pytest.raises(ValueError, match="cannot be written"):
        claim.append(row)
    assert victim.read_text() == "precious"
    os.unlink(claim.rows)
    claim.append(row)
