"""The record: what runs hold, under names; repeatable, refusing contradictions, and a place to go on from."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from tiny import only_noisy, tiny

from noisyrnn.checkpoint import load, load_network
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Record, merge, read_results, rows, run
from noisyrnn.experiments.record.published import load as load_named
from noisyrnn.experiments.store.run_directory import DONE, RunDirectory
from noisyrnn.perturb import White
from noisyrnn.report import report
from noisyrnn.train import Moment


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    directory = tmp_path_factory.mktemp("runs")
    assert run(tiny(seeds=2), directory).complete
    return directory


def files(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def test_a_record_says_what_the_runs_say(runs: Path, tmp_path: Path) -> None:
    merged = merge(runs, tmp_path / "record")
    assert (merged.runs, merged.rows, merged.networks, merged.unfinished) == (6, 12, 6, 0)
    key = lambda row: row.cell  # noqa: E731
    assert sorted(rows(tmp_path / "record"), key=key) == sorted(rows(runs), key=key)
    assert read_results(tmp_path / "record").experiments == read_results(runs).experiments
    one, two = (report(place, tmp_path / place.name / "out") for place in (runs, tmp_path / "record"))
    told = [json.loads(documents.json.read_text()) for documents in (one, two)]
    for part in ("tables", "claims", "figures"):
        assert told[0][part] == told[1][part]


def test_networks_have_names_and_no_hash_is_in_any(runs: Path, tmp_path: Path) -> None:
    merge(runs, tmp_path)
    record = Record(tmp_path)
    assert record.names("digits") == [
        "digits/exprnn-rows-2-epochs-seed-0", "digits/exprnn-rows-2-epochs-seed-1",
        "digits/lipschitz-rows-2-epochs-seed-0", "digits/lipschitz-rows-2-epochs-seed-1",
        "digits/noisy-0.1-0.1-rows-2-epochs-seed-0", "digits/noisy-0.1-0.1-rows-2-epochs-seed-1",
    ]  # fmt: skip
    keys = {path.parent.name for path in runs.rglob(DONE)}
    assert not [name for name in files(tmp_path) for key in keys if key in name]
    for path in runs.rglob(DONE):
        place = RunDirectory(path.parent)
        done = place.done()
        assert done is not None
        line = record.runs()[place.key]
        own = load_network(path.with_name(done.files["network"].name))
        published = load_named(f"{line.task}/{line.name}", record=tmp_path)
        x = torch.randn(3, 8, 8)
        assert torch.equal(own(x), published(x))
        assert torch.equal(own(x), load_named(record.network_path(line))(x))
    with pytest.raises(ValueError, match=r"did you mean digits/lipschitz-rows-2-epochs-seed-\d\?"):
        record.network("digits/lipschitz-rows-2-epochs-seed")


def test_a_run_that_was_trained_again_adds_rows_and_replaces_no_network(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, again = tmp_path / "record", tmp_path / "again"
    merge(runs, record, networks="first")
    networks = {name: content for name, content in files(record).items() if name.endswith(".safetensors")}
    before = {row.cell: row for row in rows(record)}
    monkeypatch.setattr("noisyrnn.experiments.runner.__version__", "9.9")
    more = tiny(seeds=2, name="more", measures=(Clean(), White(sigma=0.7)))
    assert run(more, again, record=record).complete
    merge(again, record, networks="first")
    after = {row.cell: row for row in rows(record)}
    assert before.items() <= after.items()
    assert networks == {name: content for name, content in files(record).items() if name.endswith(".safetensors")}
    added = [row for cell, row in after.items() if cell not in before]
    # The networks of seed 0 are published and were measured; those of seed 1 were trained again, and rows say so.
    assert {(row.seed, row.version == "9.9") for row in added} == {(0, False), (1, True)}


def test_a_second_merge_changes_no_byte_and_half_a_record_is_completed(runs: Path, tmp_path: Path) -> None:
    merge(runs, tmp_path)
    before = files(tmp_path)
    assert vars(merge(runs, tmp_path)) == {"runs": 0, "rows": 0, "networks": 0, "unfinished": 0}
    assert files(tmp_path) == before
    # Cut off between any two files: what was not written yet is written by the next call.
    for name in ("rows/digits.csv", "theory.csv", "networks/digits/lipschitz-rows-2-epochs-seed-0.safetensors"):
        (tmp_path / name).unlink(missing_ok=True)
        merge(runs, tmp_path)
        assert files(tmp_path) == before


def test_a_contradiction_is_refused_and_nothing_is_written(runs: Path, tmp_path: Path) -> None:
    merge(runs, tmp_path / "record")
    before = files(tmp_path / "record")
    other = shutil.copytree(runs, tmp_path / "other")
    path = next(other.rglob("rows-*.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["value"] += 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(tiny(seeds=3), other).complete
    with pytest.raises(ValueError, match=r"contradicts .*record: .* is .* there and .* in the record; nothing was"):
        merge(other, tmp_path / "record")
    assert files(tmp_path / "record") == before


def test_whose_networks_are_published_can_be_chosen(runs: Path, tmp_path: Path) -> None:
    assert merge(runs, tmp_path / "first", networks="first").networks == 3
    assert merge(runs, tmp_path / "none", networks="none").networks == 0
    assert len(rows(tmp_path / "none")) == 12


def test_a_run_stopped_and_recorded_goes_on_in_another_clone_bit_by_bit(tmp_path: Path) -> None:
    experiment = tiny(epochs=5)

    def interrupt(label: str, seed: int, moment: Moment) -> None:
        if (label, moment.epoch, moment.batch) == ("nrnn", 3, 2):
            raise KeyboardInterrupt

    torch.set_num_threads(1)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path / "runs", watch=interrupt, every=1)
    merged = merge(tmp_path / "runs", tmp_path / "record")
    assert (merged.runs, merged.unfinished) == (1, 1)
    assert {row.model for row in rows(tmp_path / "record")} == {"lipschitz"}, "an unfinished run is in no report"

    seen: list[tuple[str, int]] = []
    clone = shutil.copytree(tmp_path / "record", tmp_path / "clone")
    outcome = run(
        experiment,
        tmp_path / "fresh",
        record=clone,
        watch=lambda label, seed, moment: seen.append((label, moment.epoch)),
    )
    assert outcome.complete
    assert min(epoch for label, epoch in seen if label == "nrnn") == 3
    assert "lipschitz" not in {label for label, _ in seen}, "what the record has is not trained again"
    run(experiment, tmp_path / "whole")
    for key in {row.key for row in rows(tmp_path / "whole")}:
        weights = []
        for place in (RunDirectory(tmp_path / "fresh" / key), RunDirectory(tmp_path / "whole" / key)):
            done = place.done()
            assert done is not None
            checkpoint = place.network(done)
            assert checkpoint is not None
            weights.append(checkpoint.network)
        assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[1])
    assert {row.cell: row.value for row in rows(tmp_path / "fresh")} == {
        row.cell: row.value for row in rows(tmp_path / "whole")
    }

    merge(tmp_path / "fresh", tmp_path / "record")
    assert {line.status for line in Record(tmp_path / "record").runs().values()} == {"finished"}
    assert not list((tmp_path / "record").rglob("*.state.safetensors")), "a short training can be done again"


def test_an_unfinished_state_is_replaced_by_a_later_one_and_never_by_an_earlier(tmp_path: Path) -> None:
    experiment = tiny(epochs=6)

    def until(epoch: int):
        def interrupt(label: str, seed: int, moment: Moment) -> None:
            if moment.epoch == epoch:
                raise KeyboardInterrupt

        return interrupt

    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path / "early", watch=until(2))
    shutil.copytree(tmp_path / "early", tmp_path / "late")
    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path / "late", watch=until(5))
    for source in ("early", "late", "early"):
        merge(tmp_path / source, tmp_path / "record")
    with pytest.raises(ValueError, match="has 1 unfinished runs and no rows yet: `noisyrnn run` goes on with them"):
        rows(tmp_path / "record")
    [state] = (tmp_path / "record").rglob("*.state.safetensors")
    assert load(state).header.position["epoch"] == 4


def test_more_can_be_measured_on_a_published_network(runs: Path, tmp_path: Path) -> None:
    merge(runs, tmp_path / "record")
    more = tiny(name="more", measures=(White(sigma=0.3),))
    outcome = run(more, tmp_path / "work", record=tmp_path / "record")
    assert outcome.complete
    assert not any(result.trained for result in outcome.results)
    run(more, runs_copy := shutil.copytree(runs, tmp_path / "copy"))
    expected = {row.cell: row.value for row in rows(runs_copy) if row.experiment == "more"}
    assert {row.cell: row.value for row in rows(tmp_path / "work") if row.experiment == "more"} == expected


def test_long_trainings_are_published_with_a_state_that_other_schedules_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scheduled(epochs: int, decay: dict[int, float]):
        experiment = tiny(epochs=epochs)
        recipe = experiment.recipes["nrnn"]
        train = recipe.train.model_copy(update={"decay": decay})
        return experiment.model_copy(update={"recipes": {"nrnn": recipe.model_copy(update={"train": train})}})

    torch.set_num_threads(1)
    monkeypatch.setattr("noisyrnn.experiments.record.merging.LONG", 0.0)
    run(scheduled(3, {1: 0.1}), tmp_path / "short")
    merge(tmp_path / "short", tmp_path / "record")
    epochs: list[int] = []
    run(
        scheduled(5, {3: 0.1}), tmp_path / "grown", record=tmp_path / "record",
        watch=lambda label, seed, moment: epochs.append(moment.epoch),
    )  # fmt: skip
    run(scheduled(5, {3: 0.1}), tmp_path / "whole")
    assert sorted(set(epochs)) == [3, 4, 5]
    assert [row.value for row in rows(tmp_path / "grown")] == [row.value for row in rows(tmp_path / "whole")]


def test_a_long_training_that_was_recorded_unfinished_keeps_a_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(label: str, seed: int, moment: Moment) -> None:
        if moment.epoch == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("noisyrnn.experiments.record.merging.LONG", 0.0)
    experiment = only_noisy(tiny(epochs=3))
    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path / "runs", watch=interrupt)
    assert merge(tmp_path / "runs", tmp_path / "record").unfinished == 1
    run(experiment, tmp_path / "runs")
    assert merge(tmp_path / "runs", tmp_path / "record").runs == 1
    [state] = (tmp_path / "record").rglob("*.state.safetensors")
    assert load(state).header.position["epoch"] == 3


def test_an_altered_table_is_noticed(runs: Path, tmp_path: Path) -> None:
    merge(runs, tmp_path)
    path = tmp_path / "runs.csv"
    text = path.read_text()
    assert ",0.01" in text
    path.write_text(text.replace(",0.01", ",0.02", 1))
    record = Record(tmp_path)
    with pytest.raises(ValueError, match=r"belong to .*: runs\.csv was altered; restore it from a copy"):
        [record.run(name) for name in record.names()]


def test_what_was_published_without_its_network_is_trained_again_only_if_more_is_asked_for(
    runs: Path, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    merge(runs, tmp_path / "record", networks="none")
    outcome = run(tiny(seeds=2), tmp_path / "work", record=tmp_path / "record")
    assert [(result.trained, result.rows) for result in outcome.results] == [(False, 0)] * 6
    more = tiny(name="more", measures=(White(sigma=0.3),))
    outcome = run(more, tmp_path / "work", record=tmp_path / "record")
    assert [(result.trained, result.rows) for result in outcome.results] == [(True, 1)] * 3


@pytest.mark.parametrize("change", [{"task": "../../../outside"}, {"task": "mnist"}, {"key": "0" * 16}, {"seed": 7}])
def test_rows_of_a_stranger_write_nowhere_else(change: dict, runs: Path, tmp_path: Path) -> None:
    theirs = shutil.copytree(runs, tmp_path / "theirs")
    table = next(theirs.rglob("rows-*.jsonl"))
    first, *others = table.read_text().splitlines()
    table.write_text("\n".join([json.dumps(json.loads(first) | change), *others, ""]))
    with pytest.raises(ValueError, match=r"is no row \(task: |has a row of another run") as caught:
        merge(theirs, tmp_path / "record" / "deep")
    assert "\n" not in str(caught.value)
    written = {path.name for path in tmp_path.rglob("*.csv")}
    assert not written


def test_a_line_of_runs_that_is_no_run_is_one_sentence(runs: Path, tmp_path: Path) -> None:
    merge(runs, tmp_path)
    table = tmp_path / "runs.csv"
    table.write_text(table.read_text().replace("digits,rows", "diits,rows"))
    with pytest.raises(ValueError, match="has settings that this version does not know: data: input tag") as caught:
        merge(runs, tmp_path)
    assert "\n" not in str(caught.value)


def test_links_in_a_strangers_runs_are_not_followed(runs: Path, tmp_path: Path) -> None:
    theirs = shutil.copytree(runs, tmp_path / "theirs")
    secret = tmp_path / "secret"
    for network in theirs.rglob("state-*.safetensors"):
        network.rename(secret)
        network.symlink_to(secret)
    with pytest.raises(ValueError, match="is a link, which is not followed"):
        merge(theirs, tmp_path / "record")


def test_long_and_strange_names_stay_names_of_files() -> None:
    from noisyrnn.experiments.record.names import network_name
    from noisyrnn.record_tables import RunLine

    job = next(iter(tiny(seeds=1).runs()))[1]
    row = rows_of(job)
    for kind, variant in (("x", "y" * 1000), ("\u4e2d", "\u6587"), ("../..", "/etc/passwd"), ("-", ".")):
        told = row.model_copy(
            update={"description": row.description.model_copy(update={"kind": kind, "variant": variant})}
        )
        name = network_name(job, [told], 2)
        pattern = RunLine.model_fields["name"].metadata[0].pattern
        assert re.fullmatch(pattern, name), name
        assert len(name) < 240


def rows_of(job):
    from noisyrnn.experiments.spec import Recipe
    from noisyrnn.rows import Row

    described = Recipe(model=job.model, train=job.train).description
    return Row(
        experiment="tiny", model="m", description=described, key=job.key, seed=job.seed, epochs=1, task="digits",
        measure="clean", value=1.0,
    )  # fmt: skip
