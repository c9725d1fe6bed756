"""``noisyrnn audit``: names, modules, gates and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from noisyrnn.cli import main
from noisyrnn.cli.audit import named

MODULE = """
import numpy as np

class Threshold:
    classes_ = np.array([0, 1])
    def __init__(self, at=0.0):
        self.at = at
    def predict(self, X):
        return (np.asarray(X).reshape(len(X), -1).mean(1) > self.at).astype(int)

plain = Threshold()

def make():
    return Threshold(at=0.2)

class Box:
    inner = plain
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    x = (2 * y - 1)[:, None] * 0.8 + rng.normal(size=(60, 12))
    for name, part in (("train", slice(0, 30)), ("test", slice(30, 60))):
        rows = ["state," + ",".join(f"t{k}" for k in range(12))]
        rows += [
            f"{one}," + ",".join(f"{value:.4f}" for value in row) for one, row in zip(y[part], x[part], strict=True)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows))
    (tmp_path / "shop_models.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "shop_models", raising=False)
    return tmp_path


@pytest.fixture
def run(shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command line as a user calls it: exit code, output, errors."""

    def called(*given: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["noisyrnn", "audit", *given])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return ended.value.code, told.out, told.err

    return called


def test_a_gate_that_holds_and_one_that_does_not(shop: Path, run) -> None:
    usual = ("plain=shop_models:plain", "made=shop_models:make()", "test.csv", "--train", "train.csv", "--target",
             "state", "--budget", "quick", "--fault", "noise", "--fault", "bias")  # fmt: skip
    code, out, err = run(*usual, "--require", "clean >= 0.8", "--require", "plain: noise@1 >= 0.5")
    assert code == 0, err
    lines = out.splitlines()
    assert len(lines) <= 6
    assert lines[1].startswith(("plain", "made"))
    for name in ("audit.html", "audit.json", "audit.csv"):
        assert (shop / "audit" / name).is_file()
    code, out, err = run(*usual, "--require", "worst >= 0.999", "--require", "clean >= 0.1", "--json")
    assert code == 1
    said = err.strip().splitlines()
    assert len(said) == 2
    assert all("worst >= 0.999 fails: it is" in line for line in said)
    assert json.loads(out)["conditions"]["reference"].startswith("1-NN")


def test_a_classifier_that_cannot_be_examined_is_an_error_too(shop: Path, run) -> None:
    (shop / "broken_models.py").write_text("class B:\n    def predict(self, X):\n        return 1 / 0\nb = B()\n")
    code, out, _ = run("broken_models:b", "test.csv", "--target", "state", "--fault", "noise")
    assert code == 1
    assert "ZeroDivisionError" in out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("test.csv",), "at least one classifier"),
        (("shop_models:plain", "test.csv", "--target", "state", "--require", "noise"), "is no requirement"),
        (("shop_models:plain", "gone.csv"), "gone.csv"),
        (("shop_models:plain", "test.csv", "--target", "state", "--budget", "huge"), "quick, standard, thorough"),
    ],
)
def test_wrong_use_is_one_sentence(run, given: tuple[str, ...], words: str) -> None:
    code, _, err = run(*given)
    assert code != 0
    assert words in err
    assert len(err.strip().splitlines()) == 1


def test_names_paths_and_modules(shop: Path) -> None:
    found = named(["shop_models:plain", "shop_models:make()", "inner=shop_models:Box.inner"])
    assert list(found) == ["plain", "make", "inner"]
    assert found["make"].at == 0.2
    assert found["inner"] is found["plain"]
    odd = shop / "a=b:c.onnx"
    odd.write_bytes(b"")
    assert named(["a=b:c.onnx"]) == {"a=b:c": Path("a=b:c.onnx")}  # what exists is a path
    assert named(["x=a=b:c.onnx"]) == {"x": Path("a=b:c.onnx")}
    assert str(shop) not in sys.path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing.onnx", "missing.onnx does not exist"),
        ("no_such_module_here:x", "There is no module no_such_module_here"),
        ("shop_models:other", "has no other"),
        ("shop_models:Threshold", "is a class: name an object"),
        ("shop_models:plain()", "is no factory"),
    ],
)
def test_what_is_not_there_is_said(shop: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(").replace(")", r"\)")):
        named([text])


def test_two_of_one_name_are_refused(shop: Path) -> None:
    with pytest.raises(ValueError, match="name them apart"):
        named(["shop_models:plain", "plain=shop_models:make()"])
