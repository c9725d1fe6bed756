"""Portraits say what the theorems say of a saved network, and are made once."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import tiny

from noisyrnn.checkpoint import load_network
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Measurement, rows, run
from noisyrnn.experiments.measuring import chosen, loaded
from noisyrnn.experiments.place import CHECKPOINT, spec_in
from noisyrnn.experiments.portrait import PORTRAIT, explained, portrait, trained
from noisyrnn.experiments.rows import ROWS
from noisyrnn.sde import SDE, DenseNoise
from noisyrnn.theory import Network, lyapunov_spectrum, regulariser, regulariser_by_autodiff


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("runs")
    run(tiny(epochs=30), directory)
    return {row["model"]: directory / row["key"] for row in rows(directory)}


def test_R_and_exponent_are_those_of_the_theorems_on_the_same_samples(places: dict[str, Path]) -> None:
    place = places["nrnn"]
    told, spec = portrait(place, samples=20), spec_in(place)
    assert spec is not None
    split = chosen(loaded(spec.data), Measurement(measure=Clean(), samples=20))
    with torch.no_grad():
        network, x = Network.of_classifier(load_network(place / CHECKPOINT).double()), split.x.double()
        roots = torch.as_tensor(network.dt).sqrt()  # of the Euler-Maruyama noise, which is to be xi itself
        noisy = replace(network, diffusion=DenseNoise(torch.diag(1 / roots)), released=None)
        loss = noisy.cross_entropy(split.y)
        Q = regulariser(noisy, x, loss).Q
        both = regulariser_by_autodiff(noisy, x, loss)
        steps = torch.as_tensor(network.dt).expand(6)
        spectrum = lyapunov_spectrum(SDE(network.drift), x, dt=steps, count=1)
    assert pytest.approx(float((both - Q).mean())) == told.per_step_R
    assert told.exponent == pytest.approx(spectrum.top)


def test_a_network_that_learned_a_negative_step_has_a_portrait(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = load_network(places["nrnn"] / CHECKPOINT)
    with torch.no_grad():
        model.layer.cells[0].length.dt[0] = -0.001
    place = shutil.copytree(places["nrnn"], tmp_path / "turned")
    monkeypatch.setattr("noisyrnn.experiments.portrait.load_network", lambda path: model)
    told = portrait(place, samples=20)
    assert told.per_step_R is not None
    assert told.per_step_R > 0
    assert None not in (told.exponent, told.certified)


def test_what_is_certified_is_not_reached_by_the_attack(places: dict[str, Path]) -> None:
    told = portrait(places["lipschitz"], samples=20)
    assert told.certified is not None
    assert 0 < told.certified < told.attacked


def test_networks_without_theorems_have_an_attacked_radius_only(places: dict[str, Path]) -> None:
    told = portrait(places["exprnn"], samples=20)
    assert (told.per_step_R, told.exponent, told.certified) == (None, None, None)
    assert told.attacked > 0


def test_a_portrait_is_read_again_unless_other_samples_are_asked_for(places: dict[str, Path]) -> None:
    path = places["nrnn"] / PORTRAIT
    first = portrait(places["nrnn"], samples=20)
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "attacked": -1.0}))
    assert portrait(places["nrnn"], samples=20).attacked == -1.0
    for other in (json.dumps({**kept, "attacked": -1.0, "samples": 19}), '{"key": "cut o'):
        path.write_text(other)
        assert portrait(places["nrnn"], samples=20) == first


def test_accuracies_are_those_of_the_rows(places: dict[str, Path]) -> None:
    home = places["nrnn"].parent
    found = {one.model: one for one in explained(trained(home, ["tiny"]), ["tiny"], samples=20)}
    cells = {(row["model"], row["measure"]): row["value"] for row in rows(home)}
    assert found.keys() == places.keys()
    assert all(one.clean == cells[name, "clean"] and one.robust == cells[name, "white"] for name, one in found.items())


def test_a_directory_without_networks_of_the_experiment_is_one_sentence(places: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="No network with rows of table-3 is below"):
        trained(places["nrnn"].parent, ["table-3"])
    with pytest.raises(ValueError, match="There is no directory"):
        trained("no/such/place", ["table-3"])


def test_runs_with_other_columns_are_not_compared(places: dict[str, Path], tmp_path: Path) -> None:
    home = next(iter(places.values())).parent
    half = tmp_path / "half"
    shutil.copytree(home, half)
    path = half / next(iter(places.values())).name / ROWS
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole[:-1]))
    columns = len(whole)
    with pytest.raises(ValueError, match=rf"has {columns - 1} of the {columns} columns of tiny that other"):
        trained(half, ["tiny"])
