"""Summaries say what the theorems say of a saved network, and are made once."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import tiny

from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Measurement, merge, rows, run
from noisyrnn.experiments.measure import selection, splits_of
from noisyrnn.experiments.record.summaries import THEORY
from noisyrnn.experiments.theory_summary import Trained, explain, networks_with_rows, summary
from noisyrnn.sde import SDE, DenseNoise
from noisyrnn.theory import Network, lyapunov_spectrum, regulariser, regulariser_by_autodiff


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs")
    run(tiny(epochs=30), directory)
    return directory


def networks(home: Path) -> dict[str, Trained]:
    return {one.rows[0].model: one for one in networks_with_rows(home, ["tiny"])}


def test_R_and_exponent_are_those_of_the_theorems_on_the_same_samples(home: Path) -> None:
    one = networks(home)["nrnn"]
    told = summary(one, samples=20)
    split = selection(splits_of(one.run.data), Measurement(measure=Clean(), samples=20))
    with torch.no_grad():
        network, x = Network.of_classifier(one.network().double()), split.x.double()
        roots = torch.as_tensor(network.dt).sqrt()  # of the Euler-Maruyama noise, which is to be xi itself
        noisy = replace(network, diffusion=DenseNoise(torch.diag(1 / roots)), released=None)
        loss = noisy.cross_entropy(split.y)
        Q = regulariser(noisy, x, loss).Q
        both = regulariser_by_autodiff(noisy, x, loss)
        steps = torch.as_tensor(network.dt).expand(6)
        spectrum = lyapunov_spectrum(SDE(network.drift), x, dt=steps, count=1)
    assert pytest.approx(float((both - Q).mean())) == told.per_step_R
    assert told.exponent == pytest.approx(spectrum.top)


def test_a_network_that_learned_a_negative_step_has_a_summary(home: Path) -> None:
    one = networks(home)["nrnn"]
    model = one.network()
    with torch.no_grad():
        model.layer.cells[0].step_size.dt[0] = -0.001
    told = summary(replace(one, network=lambda: model, kept=None, keep=lambda summary: None), samples=20)
    assert told.per_step_R is not None
    assert told.per_step_R > 0
    assert None not in (told.exponent, told.certified)


def test_what_is_certified_is_not_reached_by_the_attack(home: Path) -> None:
    told = summary(networks(home)["lipschitz"], samples=20)
    assert told.certified is not None
    assert 0 < told.certified < told.attacked


def test_networks_without_theorems_have_an_attacked_radius_only(home: Path) -> None:
    told = summary(networks(home)["exprnn"], samples=20)
    assert (told.per_step_R, told.exponent, told.certified) == (None, None, None)
    assert told.attacked > 0


def test_a_summary_is_read_again_unless_other_samples_are_asked_for(home: Path) -> None:
    first = summary(networks(home)["nrnn"], samples=20)
    path = home / first.key / THEORY
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "attacked": -1.0}))
    assert summary(networks(home)["nrnn"], samples=20).attacked == -1.0
    path.write_text(json.dumps({**kept, "attacked": -1.0, "samples": 19}))
    assert summary(networks(home)["nrnn"], samples=20) == first
    path.write_text('{"key": "cut o')
    with pytest.raises(ValueError, match=r"theory\.json is not a summary of theory .*: remove it to compute it again"):
        networks(home)
    path.unlink()


def test_accuracies_are_those_of_the_rows_and_a_record_says_the_same(home: Path, tmp_path: Path) -> None:
    cells = {(row.model, row.measure): row.value for row in rows(home)}
    found = {name: explain(one, samples=20) for name, one in networks(home).items()}
    assert found.keys() == {model for model, _ in cells}
    for name, one in found.items():
        assert one is not None
        assert (one.clean, one.robust) == (cells[name, "clean"], cells[name, "white"])
    merge(home, tmp_path / "record")
    recorded = networks(tmp_path / "record")
    assert {name: one.kept for name, one in recorded.items()} == {
        name: one.summary for name, one in found.items() if one
    }
    assert recorded["nrnn"].network().readout.weight.equal(networks(home)["nrnn"].network().readout.weight)
    remade = summary(recorded["nrnn"], samples=10)
    assert networks(tmp_path / "record")["nrnn"].kept == remade


def test_a_directory_without_networks_of_the_experiment_is_one_sentence(home: Path) -> None:
    with pytest.raises(ValueError, match="No network with rows of table-3 is below"):
        networks_with_rows(home, ["table-3"])
    with pytest.raises(ValueError, match="There is no directory"):
        networks_with_rows("no/such/place", ["table-3"])


def test_runs_with_other_columns_are_not_compared(home: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(home, half)
    path = next(half.rglob("rows-*.jsonl"))
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole[:-1]))
    columns = len(whole)
    with pytest.raises(ValueError, match=rf"has {columns - 1} of the {columns} columns of tiny that other"):
        networks_with_rows(half, ["tiny"])
