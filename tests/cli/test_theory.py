"""The commands of ``noisyrnn theory`` on tiny saved models, on systems with known answers, and used wrongly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from noisyrnn.checkpoint import Checkpoint, Header, save
from noisyrnn.cli import main
from noisyrnn.cli.theory import theory
from noisyrnn.data import Digits, Reading, load
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Experiment, Measurement, Recipe, run
from noisyrnn.models import Certified, ClassicRNNSetting, Convention, Lipschitz, Noisy
from noisyrnn.perturb import White
from noisyrnn.rnn import Route, chosen
from noisyrnn.theory import Hessian
from noisyrnn.theory.known.oracles import gbm_exponent
from noisyrnn.train import Train, fit, fresh

Command = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Networks of six units, trained for one epoch on rows of digits."""
    directory, data = tmp_path_factory.mktemp("models"), Digits(reading=Reading.ROWS)
    settings = {
        "plain": Lipschitz(hidden=6, dt=0.1),
        "released": Noisy(hidden=6, dt=0.1, additive=0.05, multiplicative=0.1),
        "certified": Certified(hidden=6, outputs=10),
        "ito": Noisy(hidden=6, dt=0.1, additive=0.2, multiplicative=0.3, convention=Convention.ITO),
    }
    for name, setting in settings.items():
        network = fresh(setting, inputs=8, classes=10, seed=0)
        about = {"data": data.model_dump(mode="json")}
        path = directory / f"{name}.safetensors"
        train = Train(epochs=1, lr=1e-2, batch=64)
        fit(network, load(data).train, train, seed=0, setting=setting, path=path, about=about)
    return {name: directory / f"{name}.safetensors" for name in settings}


@pytest.fixture(autouse=True)
def group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program reduced to this group; its ways with errors stay."""
    monkeypatch.setattr("noisyrnn.cli.app", theory)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """What a command prints with --json."""

    def run(*words: object) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", ["noisyrnn", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one sentence with which a command refuses."""

    def run(*words: object) -> str:
        monkeypatch.setattr("sys.argv", ["noisyrnn", *map(str, words)])
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == 1
        said = capsys.readouterr().err.strip()
        assert said.startswith("noisyrnn: ")
        assert "\n" not in said
        return said

    return run


def test_regulariser_of_the_reference_problem(told: Command, tmp_path: Path) -> None:
    found = told("regulariser", "--problem", "reference", "--draws", 400, "--out", tmp_path / "figure.svg")
    assert found["facts"]["Q"] == pytest.approx(-0.004925643127758, abs=1e-12)
    assert found["facts"]["R"] == pytest.approx(0.207201063692649, abs=1e-12)
    assert found["facts"]["Q as printed"] == pytest.approx(0.005615470640250, abs=1e-12)
    first = found["rows"][0]
    assert abs(first["noisy passes"] - first["Q + R"]) < 4 * first["standard error"]
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["released", "ito"])
def test_regulariser_predicts_the_noisy_loss_of_a_saved_model(
    told: Command, models: dict[str, Path], name: str
) -> None:
    found = told("regulariser", "--model", models[name], "--samples", 4, "--draws", 300)
    first = found["rows"][0]
    assert abs(first["noisy passes"] - first["Q + R"]) < 4 * first["standard error"] + 1e-4
    assert (found["facts"]["bias"] != 0) == (name == "released")


def test_margin_of_a_problem_and_of_a_saved_model(told: Command, models: dict[str, Path], tmp_path: Path) -> None:
    exact = told("margin", "--problem", "two-classes", "--certificates", "adjoint,global")
    assert exact["facts"]["attacked radius, median"] == pytest.approx(0.1, rel=1e-3)
    assert exact["rows"][0]["median radius"] == pytest.approx(0.1, rel=1e-3)
    assert exact["rows"][0]["mean certified / attacked"] <= 1
    picture = tmp_path / "figure.png"
    found = told(
        "margin", "--model", models["plain"], "--samples", 30, "--certificates", "adjoint,ball,global",
        "--smoothing", 0.1, "--draws", 100, "--steps", 15, "--out", picture,
    )  # fmt: skip
    ratios = [row["mean certified / attacked"] for row in found["rows"]]
    assert ratios == sorted(ratios, reverse=True)
    assert 0.3 < ratios[0] <= 1
    assert all(row["violations"] == 0 and row["largest"] <= 1 for row in found["rows"])
    certified = [found["facts"][f"smoothed classifier: certified to {radius}, %"] for radius in ("0", "0.05", "0.1")]
    assert 100 >= certified[0] > certified[2] > 0
    assert certified == sorted(certified, reverse=True)
    # A hundred draws cannot prove a probability from which a radius of two strengths would follow.
    assert found["facts"]["smoothed classifier: certified to 0.2, %"] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_margin_in_the_largest_coordinate(told: Command, models: dict[str, Path]) -> None:
    found = told("margin", "--model", models["released"], "--samples", 20, "--norm", "linf", "--steps", 15)
    assert found["rows"][0]["violations"] == 0
    assert 0.1 < found["rows"][0]["mean certified / attacked"] <= 1


def test_margin_of_a_network_that_carries_its_own_proof(
    told: Command, refused: Callable[..., str], models: dict[str, Path]
) -> None:
    path = models["certified"]
    found = told("margin", "--model", path, "--samples", 5, "--certificates", "gain", "--steps", 3, "--restarts", 1)
    assert found["rows"][0]["certificate"] == "gain"
    assert found["rows"][0]["violations"] == 0
    assert found["facts"]["certified RMS, median"] > 0
    assert "no gain" in refused("margin", "--model", models["plain"], "--certificates", "gain")
    assert "no other" in refused("margin", "--model", path, "--certificates", "gain,ball")


def test_generalisation(told: Command, models: dict[str, Path], tmp_path: Path) -> None:
    found = told("generalisation", "--problem", "pinned", "--delta", 0.01, "--out", tmp_path / "figure.svg")
    assert found["facts"]["bound"] == pytest.approx(0.3042583273265099)
    assert found["facts"]["bound as printed"] == pytest.approx(0.31639570122017496)
    own = told("generalisation", "--model", models["plain"], "--samples", 50, "--correct")
    assert own["facts"]["vacuous"] is True
    assert "misclassified and were left out" in own["remarks"][0]


def test_lyapunov(told: Command, models: dict[str, Path], tmp_path: Path) -> None:
    line = told("lyapunov", "--problem", "growing-line", "--steps", 200, "--out", tmp_path / "figure.svg")
    for row in line["rows"]:
        assert row["exact"] == pytest.approx(gbm_exponent(0.5, row["s"]))
        assert abs(row["estimate"] - row["exact"]) < 5 * row["standard error"] + 1e-3
    for name in (known for known in models if known != "certified"):  # whose steps are no small ones
        found = told(
            "lyapunov", "--model", models[name], "--samples", 33, "--exponents", 3, "--out", tmp_path / "f.png"
        )
        assert len(found["rows"]) == 3
        lo, hi = found["facts"]["interval from"], found["facts"]["to"]
        assert (lo is None) == (name == "released")
        assert lo is None or lo - 0.1 < found["rows"][0]["value"] < hi + 0.1
    steady = told("lyapunov", "--model", models["plain"], "--common", 2.0)
    assert steady["facts"]["to"] < found["facts"]["to"]


def test_convergence(told: Command, models: dict[str, Path], tmp_path: Path) -> None:
    found = told("convergence", "--problem", "additive", "--paths", 100, "--out", tmp_path / "figure.svg")
    euler, tamed, printed = found["rows"]
    assert euler["order"] == pytest.approx(1, abs=0.15)
    assert tamed["order"] == pytest.approx(1, abs=0.15)
    assert printed["order"] == pytest.approx(0, abs=0.05)
    assert printed["stated"] is None
    line = told("convergence", "--problem", "geometric-brownian-motion", "--paths", 400)
    assert [row["order"] for row in line["rows"]] == pytest.approx([0.5, 1.0], abs=0.15)
    own = told("convergence", "--model", models["plain"], "--additive", 0.2, "--paths", 20)
    assert own["rows"][0]["order"] == pytest.approx(1, abs=0.3)


def test_figure_3_side_by_side(told: Command, models: dict[str, Path], tmp_path: Path) -> None:
    exact = told("hessian", "--problem", "least-squares")["rows"][0]
    assert [exact[f"λ{i}"] for i in range(1, 5)] == pytest.approx([18, 8, 2, 0.5])
    picture = tmp_path / "figure-3.svg"
    found = told(
        "hessian", models["plain"], models["ito"], "--samples", 100, "--points", 5, "--lanczos", 15, "--out", picture
    )
    assert [row["network"] for row in found["rows"]] == ["lipschitz", "noisy"]
    for row in found["rows"]:
        assert row["standard error"] > 0
        assert row["λ1"] >= row["λ2"] >= row["λ5"]
        assert row["least seen"] <= row["λ1"]
    assert "lipschitz: trace" in picture.read_text()


def test_explanation_of_the_networks_of_an_experiment(told: Command, tmp_path: Path) -> None:
    train = Train(epochs=1, batch=200, lr=1e-2)
    recipes = {
        "lipschitz": Recipe(model=Lipschitz(hidden=6, dt=0.1), train=train),
        "gru": Recipe(model=ClassicRNNSetting(hidden=6), train=train),
    }
    measured = (Measurement(measure=Clean()), Measurement(measure=White(sigma=0.1)))
    digits = Digits(reading=Reading.ROWS)
    run(Experiment(name="tiny", claim="", data=digits, recipes=recipes, measurements=measured, seeds=2), tmp_path)
    out = tmp_path / "explanation.svg"
    answer = told("explanation", tmp_path, "--experiment", "tiny", "--samples", 5, "--out", out)
    assert answer["facts"]["networks"] == 4
    assert answer["facts"]["rank correlation of per_step_R with disturbed accuracy"] is None
    assert -1 <= answer["facts"]["rank correlation of attacked with disturbed accuracy"] <= 1
    disturbed = [row["disturbed, %"] for row in answer["rows"]]
    assert disturbed == sorted(disturbed, reverse=True)
    assert {row["network"] for row in answer["rows"] if row["per_step_R"] is None} == {"gru"}
    assert "certified l2 radius" in out.read_text()
    assert ", 1 epochs" not in out.read_text()
    longer = {"lipschitz": recipes["lipschitz"].model_copy(update={"train": train.model_copy(update={"epochs": 2})})}
    run(Experiment(name="tiny", claim="", data=digits, recipes=longer, measurements=measured, seeds=1), tmp_path)
    told("explanation", tmp_path, "--experiment", "tiny", "--samples", 5, "--out", out)
    assert "Lipschitz RNN, 2 epochs" in out.read_text()


def test_curvature_takes_the_plain_loop_by_itself() -> None:
    # The command leaves the choice to the operator: second derivatives of the other routes are ten times as slow.
    routes = []

    def loss(network: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        routes.append(chosen())
        return (network(x) - y).square().mean()

    H = Hessian(nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1), loss=loss)
    H.product(torch.ones(H.size))
    assert routes == [Route.SCAN]
    assert chosen() is Route.AUTO


def test_the_program_has_the_group() -> None:
    program = "from noisyrnn.cli import main; main()"
    words = ("theory", "margin", "--problem", "reference", "--label", "1")
    ended = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("noisyrnn: A margin needs correctly classified samples")


def test_tables_for_people(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["noisyrnn", "generalisation", "--problem", "pinned"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().out
    assert "bound as printed" in said
    assert "It assumes that" in said


def test_wrong_use_is_answered_in_one_sentence(
    refused: Callable[..., str], models: dict[str, Path], tmp_path: Path
) -> None:
    assert "second derivative" in refused("regulariser", "--problem", "reference", "--activation", "relu")
    assert "correctly classified" in refused("margin", "--problem", "reference", "--label", 1)
    assert "milstein is not right" in refused("convergence", "--problem", "network", "--scheme", "milstein")
    assert "milstein is not right" in refused("convergence", "--model", models["ito"], "--scheme", "milstein")
    assert "no checkpoint" in refused("margin", "--model", tmp_path / "absent.safetensors")
    assert "either a saved model or --problem" in refused("lyapunov")
    assert "either a saved model or --problem" in refused("hessian", models["ito"], "--problem", "least-squares")
    assert "no problem 'other'" in refused("lyapunov", "--problem", "other")
    assert ".svg or .png" in refused("lyapunov", "--problem", "growing-line", "--out", "figure.gif")
    assert "has no noise" in refused("regulariser", "--model", models["plain"])
    assert "does not scale with the step" in refused("convergence", "--model", models["released"])
    assert "every training sample" in refused("generalisation", "--model", models["plain"], "--samples", 50)
    assert "no certificate 'box'" in refused("margin", "--problem", "random", "--certificates", "box")
    assert "one kind of noise" in refused("lyapunov", "--model", models["ito"], "--common", 1, "--additive", 1)
    assert "features" in refused("margin", "--model", models["plain"], "--data", "ecg5000-5")


def test_models_that_the_theorems_are_not_about(refused: Callable[..., str], tmp_path: Path) -> None:
    setting, path = ClassicRNNSetting(hidden=4), tmp_path / "classic.safetensors"
    network = setting.build(1, 10)
    save(path, Checkpoint(header=Header(model=setting, inputs=1, classes=10), network=network.state_dict()))
    assert "which data" in refused("margin", "--model", path)
    for command in ("regulariser", "margin", "generalisation", "lyapunov", "convergence"):
        assert "one layer of an SDE cell" in refused(command, "--model", path, "--data", "digits")
