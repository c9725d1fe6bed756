"""From one value to list, run, record and report: an experiment that nobody else knows of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from noisyrnn.cli import app
from noisyrnn.data import Digits
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import EXPERIMENTS, Experiment, Measurement, Recipe, Statement
from noisyrnn.models import Lipschitz, Noisy
from noisyrnn.perturb import White
from noisyrnn.train import Train

_TRAIN = Train(epochs=1, batch=400)
MINE = Experiment(
    name="mine",
    title="A question of my own",
    claim="noise never hurts",
    text="Two tiny networks on rows of digits.",
    statements=(
        Statement(quote="it never hurts", better=("noisy",), worse=("plain",), at=(("white", 0.2),), margin=-100.0),
    ),
    data=Digits(reading="rows"),
    recipes={
        "plain": Recipe(model=Lipschitz(hidden=4), train=_TRAIN),
        "noisy": Recipe(model=Noisy(hidden=4), train=_TRAIN),
    },
    measurements=(Measurement(measure=Clean()), Measurement(measure=White(sigma=0.2))),
    seeds=2,
    protocol="ours",
)


def call(*words: str) -> str:
    answer = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.mark.parametrize("by", ["catalogue", "file"])
def test_an_own_experiment_appears_everywhere_from_one_value(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if by == "catalogue":
        monkeypatch.setitem(EXPERIMENTS, "mine", MINE)
        assert "noise never hurts" in call("list")
        name = "mine"
    else:
        Path("mine.json").write_text(MINE.model_dump_json())
        name = "mine.json"
    call("run", name)
    call("record", "runs", "results")
    for place in ("runs", "results"):
        page = Path(json.loads(call("report", place, "--out", "report", "--json"))["html"]).read_text()
        for words in ("A question of my own", "Two tiny networks on rows of digits.", "it never hurts", "holds"):
            assert words in page
    assert "2 hold" not in page
    again = json.loads(call("run", name, "--out", "elsewhere", "--json"))
    assert [(result["trained"], result["rows"]) for result in again] == [(False, 0)] * 4, "the record has it all"


def test_a_wrong_file_is_one_sentence(tmp_path: Path) -> None:
    from noisyrnn.experiments import experiment

    path = tmp_path / "mine.json"
    with pytest.raises(ValueError, match=r"There is no file .*mine\.json; check the path\."):
        experiment(str(path))
    for content in (b"[]", b"{}", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"mine\.json is not an experiment that this version knows"):
            experiment(str(path))
