"""Commands used wrongly: one sentence before the work, and nothing that a checkpoint names is opened unasked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from noisyrnn.checkpoint import Checkpoint, Header, save
from noisyrnn.cli import main
from noisyrnn.cli.theory.source import saved_model
from noisyrnn.data import UCR, DataError, Digits, Table
from noisyrnn.models import Lipschitz


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """The exit code of a command and what it says on stderr; no work may have begun."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["noisyrnn", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        return int(caught.value.code or 0), capsys.readouterr().err

    return run


def model(path: Path, **about: Any) -> Path:
    setting = Lipschitz(hidden=4)
    header = Header(model=setting, inputs=1, classes=2, about=about)
    save(path, Checkpoint(header=header, network=setting.build(1, 2).state_dict()))
    return path


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["bench", "--out", "/dev/null/x"], 1, "/dev/null/x cannot be made, because /dev/null is no directory"),
        (["demo", "--out", "/dev/null/x"], 1, "cannot be made"),
        (["run", "table-3", "--out", "/dev/null/x"], 1, "cannot be made"),
        (["report", ".", "--out", "/dev/null/x"], 1, "cannot be made"),
        (["theory", "margin", "--problem", "random", "--out", "/dev/null/x/a.svg"], 1, "cannot be made"),
        (["theory", "margin", "--problem", "random", "--out", "a.pdf"], 1, "Figures are written as .svg or .png"),
        (["theory", "margin", "--problem", "reference", "--samples", "3"], 1, "--samples changes nothing"),
        (["theory", "margin", "--problem", "random", "--draws", "3"], 1, "--draws changes nothing without --smoothing"),
        (["theory", "margin", "--problem", "random", "--label", "1"], 1, "--label changes nothing"),
        (["theory", "lyapunov", "--problem", "provable", "--data", "digits"], 1, "--data changes nothing"),
        (["theory", "convergence", "--problem", "additive", "--additive", "1"], 1, "--additive changes nothing"),
        (["theory", "hessian", "--problem", "least-squares", "--samples", "9"], 1, "--samples changes nothing"),
        (["theory", "generalisation", "--problem", "pinned", "--correct"], 1, "--correct changes nothing"),
        (["theory", "regulariser", "--problem", "two-classes", "--activation", "relu"], 1, "changes nothing"),
        (["theory", "margin", "--model", "/etc/passwd"], 1, "is not a checkpoint of this library"),
        (["theory", "margin", "--model", "/"], 1, "/ is a directory: name the checkpoint in it"),
        (["run", "table-3", "--set", "model.hidden=200000"], 1, "should be less than or equal to 16384, got 200000"),
        (["run", "table-3", "--set", "train.lr=" + "[" * 100_000], 1, "train.lr="),
        (["run", "table-3", "--seeds", "1" + "0" * 12], 1, "must be 1 to 10000"),
        (["run", "table-3", "--epochs", "1" + "0" * 12], 1, "epochs must be 1 to 100000"),
        (["run", "table-3", "--every", "0"], 2, "'--every': Input should be greater than or equal to 1"),
        (["data", "get", "ucr:ecg200"], 1, "did you mean ucr:ECG200?"),
        (["run", "table-3", "--sed", "1"], 2, "No such option: --sed"),
        (["nonsense"], 2, "No such command 'nonsense'; `noisyrnn --help`"),
        (["run"], 2, "Missing argument"),
    ],
)  # fmt: skip
def test_one_sentence_before_the_work(said, words: list[str], code: int, sentence: str, tmp_path: Path) -> None:
    found, text = said(*words)
    assert found == code
    assert sentence in text
    assert len(text.splitlines()) == 1
    assert len(text) < 1500
    assert not list(tmp_path.iterdir())


def test_nothing_asked_is_answered_with_the_help(said) -> None:
    code, text = said("theory")
    assert code == 2
    assert "beside the radii at which PGD changes it" in " ".join(text.split()), "sentences are not cut"


def test_a_checkpoint_does_not_choose_which_file_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,1\nb,2\n" * 20)
    path = model(tmp_path / "m.safetensors", data=Table(path=secret, label=0).model_dump(mode="json"))
    with pytest.raises(ValueError, match=r"trained on a file, '.*secret\.csv', which is opened only if you ask for it"):
        saved_model(path, None)
    assert saved_model(path, str(secret)).splits.classes == ("a", "b")


def test_a_checkpoint_does_not_choose_which_address_is_asked(tmp_path: Path) -> None:
    path = model(tmp_path / "m.safetensors", data=UCR(name="GunPoint").model_dump(mode="json"))
    with pytest.raises(ValueError, match=r"no checksum is known of: ask for it with --data ucr:GunPoint"):
        saved_model(path, None)


@pytest.mark.parametrize("told", [{}, [], 3, {"kind": "table"}, {"kind": "ucr", "name": "../x"}])
def test_data_that_nobody_knows_are_one_sentence(told: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names data that this version does not know: name them with --data"):
        saved_model(model(tmp_path / "m.safetensors", data=told), None)


def test_a_built_in_set_is_used_as_before(tmp_path: Path) -> None:
    path = model(tmp_path / "m.safetensors", data=Digits().model_dump(mode="json"))
    with pytest.raises(ValueError, match="tells 2 classes, but these data have 1 and 10"):
        saved_model(path, None)
    with pytest.raises(DataError, match="did you mean digits"):
        saved_model(path, "digit")


def test_the_list_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["noisyrnn", "list"])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) > 40
    assert max(map(len, shown)) <= 80
    assert any("noise-search-ordered-mnist " in line for line in shown)
