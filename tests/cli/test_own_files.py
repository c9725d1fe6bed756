"""fit, predict and evaluate: every format gives the same model; every broken file gives one sentence."""

import gzip
import json
import re
import sys

import numpy as np
import pytest

from noisyrnn.cli import main

QUICK = ["--epochs", "2", "--hidden", "4", "--quiet"]


def run(capsys, *words):
    """Exit code, output and errors of a command."""
    before = sys.argv
    sys.argv = ["noisyrnn", *map(str, words)]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


def numbers(samples=20, steps=12):
    rng = np.random.default_rng(0)
    y = np.arange(samples) % 2
    x = 200 + 30 * np.sin((1 + y)[:, None] * np.linspace(0, 6, steps) + rng.uniform(0, 6, (samples, 1)))
    return x.astype(np.float32), np.array(["ok", "bad"])[y]


def wide(x, y, delimiter=","):
    head = delimiter.join(["state", *(f"t{i}" for i in range(x.shape[1]))])
    return "\n".join(
        [head, *(delimiter.join([label, *map(repr, row.tolist())]) for label, row in zip(y, x, strict=True))]
    )


def written(directory):
    """The same series in every format, with the options that each needs."""
    x, y = numbers()
    long = ["id,time,value,state"]
    for case, (row, label) in enumerate(zip(x.tolist(), y, strict=True)):
        long += [f"{case},{time},{value!r},{label}" for time, value in enumerate(row)]
    ts = ["@problemName own", "@timeStamps false", "@univariate true", "@classLabel true ok bad", "@data"]
    ts += [",".join(map(repr, row)) + f":{label}" for row, label in zip(x.tolist(), y, strict=True)]
    arff = ["@relation own", *(f"@attribute t{i} numeric" for i in range(12)), "@attribute state {ok,bad}", "@data"]
    arff += [",".join(map(repr, row)) + f",{label}" for row, label in zip(x.tolist(), y, strict=True)]
    texts = {
        "wide.csv": wide(x, y), "wide.tsv": wide(x, y, "\t"), "long.csv": "\n".join(long), "own.ts": "\n".join(ts),
        "own.arff": "\n".join(arff),
    }  # fmt: skip
    for name, text in texts.items():
        (directory / name).write_text(text)
    (directory / "packed.csv.gz").write_bytes(gzip.compress(texts["wide.csv"].encode()))
    np.savez(directory / "own.npz", x=x, y=y)
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = {"state": y.tolist()} | {f"t{i}": x[:, i].tolist() for i in range(12)}
    parquet.write_table(arrow.table(columns), directory / "own.parquet")
    target = ["--target", "state"]
    return {
        "wide.csv": target, "wide.tsv": target, "packed.csv.gz": target, "own.parquet": target, "own.ts": [],
        "own.npz": [], "own.arff": target, "long.csv": [*target, "--id", "id", "--time", "time"],
    }  # fmt: skip


def test_every_format_gives_the_same_model_and_the_same_numbers(tmp_path, capsys):
    answers, weights = set(), set()
    for number, (name, options) in enumerate(written(tmp_path).items()):
        model = tmp_path / f"model-{number}"
        code, _, errors = run(capsys, "fit", tmp_path / name, *options, "--out", model, *QUICK)
        assert (code, errors) == (0, "")
        code, out, _ = run(capsys, "predict", model, tmp_path / name, "--probabilities", "--json")
        assert code == 0
        answers.add(out)
        code, out, _ = run(capsys, "evaluate", model, tmp_path / name, "--json")
        assert json.loads(out)["series"] == 20
        answers.add(json.dumps(json.loads(out)))
        tensors = (model / "model.safetensors").read_bytes()
        weights.add(tensors[8 + int.from_bytes(tensors[:8], "little") :])
    assert len(weights) == 1
    assert len(answers) == 2


def test_fit_says_how_sure_it_is_what_it_chose_and_what_would_help(tmp_path, capsys):
    (tmp_path / "own.csv").write_text(wide(*numbers(12)))
    words = ["fit", tmp_path / "own.csv", "--target", "state", "--out", tmp_path / "model", "--epochs", "2"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    for said in ("95 % interval", "What was chosen", "faults in training", "What would make it better", " s."):
        assert said in out
    card = (tmp_path / "model/README.md").read_text()
    assert "accuracy" in card
    assert "white" in card
    code, _, errors = run(capsys, *words)
    assert (code, "holds a model already" in errors) == (1, True)
    assert run(capsys, *words, "--force", "--valid", tmp_path / "own.csv", "--quiet")[:2] == (0, "")


def test_answers_go_into_a_file_and_labels_may_be_absent(tmp_path, capsys):
    x, y = numbers()
    (tmp_path / "own.csv").write_text(wide(x, y))
    run(capsys, "fit", tmp_path / "own.csv", "--target", "state", "--out", tmp_path / "model", *QUICK)
    bare = "\n".join(",".join(map(repr, row)) for row in x.tolist())
    for name, text in {"bare.csv": bare, "named.csv": ",".join(f"t{i}" for i in range(12)) + "\n" + bare}.items():
        (tmp_path / name).write_text(text)
        code, out, errors = run(capsys, "predict", tmp_path / "model", tmp_path / name, "--out", tmp_path / "a.csv")
        assert (code, errors) == (0, "")
        assert "20 answers" in out
        lines = (tmp_path / "a.csv").read_text().splitlines()
        assert lines[0] == "series,class"
        assert re.fullmatch(r"20,(ok|bad)", lines[-1])
        code, again, _ = run(capsys, "predict", tmp_path / "model", tmp_path / "own.csv")
        assert again.splitlines() == lines


GOOD = wide(*numbers(8, 5))
ROWS = GOOD.splitlines()
LONG = "id,time,value,state\n" + "\n".join(f"{c},{t},{c + t},{'ab'[c % 2]}" for c in range(6) for t in range(4))
TS = "@classLabel true a b\n@data\n1,2:a\n3,4:b"

IN_LONG = ["--target", "state", "--id", "id", "--time", "time"]

BROKEN = {
    "empty file": ("x.csv", b"", []),
    "blank lines only": ("x.csv", b"\n\n\n", []),
    "a header only": ("x.csv", ROWS[0].encode(), []),
    "no such target": ("x.csv", GOOD.encode(), ["--target", "label"]),
    "no target named and none known": ("x.csv", GOOD.encode(), []),
    "a target's number beyond the table": ("x.csv", GOOD.encode(), ["--target", "77"]),
    "rows too short": ("x.csv", "\n".join([*ROWS[:3], ROWS[3].rsplit(",", 2)[0]]).encode(), ["--target", "state"]),
    "rows too long": ("x.csv", "\n".join([*ROWS[:3], ROWS[3] + ",1"]).encode(), ["--target", "state"]),
    "text among numbers": ("x.csv", GOOD.replace(ROWS[2].split(",")[3], "high").encode(), ["--target", "state"]),
    "a value missing": ("x.csv", GOOD.replace("," + ROWS[2].split(",")[3], ",").encode(), ["--target", "state"]),
    "NaN": ("x.csv", GOOD.replace(ROWS[2].split(",")[3], "nan").encode(), ["--target", "state"]),
    "infinity": ("x.csv", GOOD.replace(ROWS[2].split(",")[3], "inf").encode(), ["--target", "state"]),
    "huge values": ("x.csv", GOOD.replace(ROWS[2].split(",")[3], "1e300").encode(), ["--target", "state"]),
    "a label missing": ("x.csv", "\n".join([*ROWS[:3], ROWS[3][ROWS[3].index(",") :]]).encode(), ["--target", "state"]),
    "one class": ("x.csv", GOOD.replace("bad", "ok").encode(), ["--target", "state"]),
    "one series of a class": ("x.csv", "\n".join([*ROWS, "rare" + ROWS[1][2:]]).encode(), ["--target", "state"]),
    "UTF-16": ("x.csv", GOOD.encode("utf-16"), ["--target", "state"]),
    "bytes that are no text": ("x.csv", b"\xff\xfe\x00\x80" * 50, ["--target", "state"]),
    "a quotation mark left open": ("x.csv", ('"' + GOOD).encode(), ["--target", "state"]),
    "an ending that is not known": ("x.xlsx", b"PK", []),
    "gzip cut off": ("x.csv.gz", gzip.compress(GOOD.encode())[:-20], ["--target", "state"]),
    "no gzip at all": ("x.csv.gz", b"not gzip", ["--target", "state"]),
    "long: no such id": ("x.csv", LONG.encode(), ["--target", "state", "--id", "case"]),
    "long: an instant twice": ("x.csv", (LONG + "\n0,1,9,a").encode(), IN_LONG),
    "long: time is no number": (
        "x.csv", (LONG + "\n0,noon,9,a").encode(), IN_LONG
    ),
    "long: two labels for a series": (
        "x.csv", (LONG + "\n0,9,9,b").encode(), IN_LONG
    ),
    "long: a row too short": ("x.csv", (LONG + "\n0,9").encode(), IN_LONG),
    ".ts without data": ("x.ts", b"@classLabel true a b\n", []),
    ".ts with regression targets": ("x.ts", b"@targetLabel true\n@data\n1,2:0.5", []),
    ".ts with unequal channels": ("x.ts", TS.replace("1,2:a", "1,2:1:a").encode(), []),
    ".ts without labels": ("x.ts", b"@classLabel false\n@data\n1,2\n3,4", []),
    ".arff without data": ("x.arff", b"@attribute a real\n", []),
    ".npz that is none": ("x.npz", b"PK\x03\x04 nothing", []),
    "Parquet that is none": ("x.parquet", b"PAR1 nothing PAR1", ["--target", "state"]),
    "series of no length": ("x.csv", b"state\nok\nbad\nok\nbad", ["--target", "state"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_one_sentence(kind, tmp_path, capsys):
    name, content, options = BROKEN[kind]
    (tmp_path / name).write_bytes(content)
    code, out, errors = run(capsys, "fit", tmp_path / name, *options, "--out", tmp_path / "model", "--epochs", "1")
    assert code == 1
    assert out == ""
    assert errors.startswith("noisyrnn: ")
    assert errors.count("\n") == 1
    assert "Traceback" not in errors
    assert "unexpected" not in errors
    assert name.removesuffix(".gz") in errors or "class" in errors
    assert not (tmp_path / "model").exists()


def test_a_file_that_does_not_fit_the_model_is_one_sentence(tmp_path, capsys):
    x, y = numbers()
    (tmp_path / "own.csv").write_text(wide(x, y))
    run(capsys, "fit", tmp_path / "own.csv", "--target", "state", "--out", tmp_path / "model", *QUICK)
    (tmp_path / "odd.csv").write_text(wide(x, np.where(y == "ok", "odd", y)))
    np.savez(tmp_path / "two.npz", x=np.stack([x, x], -1), y=y)
    for words, message in (
        (["evaluate", tmp_path / "model", tmp_path / "odd.csv"], "'odd', not of the training"),
        (["predict", tmp_path / "model", tmp_path / "two.npz"], "2 channels, but this classifier is expecting 1"),
        (["predict", tmp_path / "model", tmp_path / "none.csv"], "none.csv cannot be read"),
        (["predict", tmp_path, tmp_path / "own.csv"], "has no model.json"),
        (["evaluate", tmp_path / "model", tmp_path / "own.csv", "--plot", "x.svg"], "--robustness"),
        (["fit", tmp_path / "none.csv"], "none.csv cannot be read"),
        (["fit", tmp_path / "own.csv", "--target", "state", "--model", "nosy"], "model must be one of"),
        (["export", tmp_path / "none"], "does not exist"),
    ):
        code, _, errors = run(capsys, *words)
        assert code == 1
        assert message in errors
        assert errors.count("\n") == 1


def test_missing_values_are_taken_on_request(tmp_path, capsys):
    text = GOOD.replace(ROWS[2].split(",")[3], "")
    (tmp_path / "own.csv").write_text(text)
    words = ["fit", tmp_path / "own.csv", "--target", "state", *QUICK]
    assert run(capsys, *words, "--out", tmp_path / "no")[0] == 1
    for missing in ("interpolate", "mask"):
        model = tmp_path / missing
        assert run(capsys, *words, "--out", model, "--missing", missing)[0] == 0
        assert run(capsys, "predict", model, tmp_path / "own.csv", "--quiet")[0] == 0


def test_robustness_of_a_saved_model_is_drawn(tmp_path, capsys):
    (tmp_path / "own.csv").write_text(wide(*numbers()))
    run(capsys, "fit", tmp_path / "own.csv", "--target", "state", "--out", tmp_path / "model", *QUICK)
    picture = tmp_path / "curves.svg"
    code, out, _ = run(capsys, "evaluate", tmp_path / "model", tmp_path / "own.csv", "--robustness", "--plot", picture)
    assert code == 0
    assert "spikes" in out
    assert b"<svg" in picture.read_bytes()
