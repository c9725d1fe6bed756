"""Every command with arguments that nobody would mean, in this process: exit code 0, 1 or 2, and one line on stderr."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import typer
from corpus import Corpus
from mutation import altered_json
from targets import Wrong

from noisyrnn import bench, cli, disk
from noisyrnn.data.download import Unreachable

_WORDS = (
    "", "0", "1", "2", "-1", "3", "abc", "nan", "inf", "-inf", "1e400", "1e9", "99999999999999999999", "2.5", "0x10",
    "\u0663", "../x", "/dev/null", "/dev/null/x", "/etc/passwd", ".", "x" * 300, "a\nb", "--", "-", "--help",
    "digits", "ucr:Coffee", "ucr:../x", "ecg500", "tiny.json", "l2", "linf", "reference", "random", "two-classes",
    "pinned", "additive", "network", "provable", "least-squares", "ball", "adjoint,ball", "heun", "relu", "tanh",
    "a.svg", "a.png", "a.pdf", "train.lr=0.1", "train.lr=", "=", "model.hidden=1e9", "data.reading=rows", "model.dt=-1",
    "train.decay={\"1\": -1}", "train.lr=" + "[" * 50_000, "first", "none", "table-3", "nrnn*", "*", "[",
)  # fmt: skip
_CHEAP = {
    "regulariser": ("--draws", "4", "--samples", "2"),
    "margin": ("--steps", "2", "--restarts", "1", "--samples", "2"),
    "generalisation": ("--samples", "3", "--correct"),
    "lyapunov": ("--samples", "2", "--steps", "3"),
    "convergence": ("--paths", "3"),
    "hessian": ("--samples", "4", "--top", "2", "--probes", "2", "--lanczos", "2", "--points", "3"),
    "explanation": ("--samples", "2", "--experiment", "tiny"),
    "run": ("--seeds", "1", "--epochs", "1", "--json"),
    "fit": ("--epochs", "1", "--hidden", "3", "--force"),
    "audit": ("--budget", "quick", "--fault", "noise", "--out", "out"),
}
_MEANT = {
    "fit": ("own.csv", "--target", "label", "--epochs", "1", "--hidden", "3", "--force", "--out", "out/model"),
    "predict": ("fitted", "own.csv", "--probabilities"),
    "evaluate": ("fitted", "own.csv"),
    "export": ("fitted", "--out", "out/model.onnx"),
    "audit": ("fitted", "own.csv", "--target", "label", "--budget", "quick", "--fault", "noise", "--out", "out"),
    "regulariser": ("--problem", "reference", "--draws", "4"),
    "margin": ("--problem", "random", "--samples", "2", "--steps", "2"),
    "generalisation": ("--problem", "pinned"),
    "lyapunov": ("--problem", "growing-line", "--samples", "2", "--steps", "3"),
    "convergence": ("--problem", "additive", "--paths", "3"),
    "hessian": ("--problem", "least-squares"),
    "explanation": ("record", "--samples", "2", "--experiment", "tiny"),
    "run": ("tiny.json", "--epochs", "1", "--json"),
    "record": ("runs", "new-record"),
    "report": ("record", "--out", "out"),
    "get": ("digits",),
}
_SLOW = {
    "export": 0.1,
    "fit": 0.3,
    "audit": 0.3,
    "evaluate": 0.5,
    "convergence": 0.1,
    "lyapunov": 0.3,
    "run": 0.4,
    "explanation": 0.4,
    "demo": 0.5,
}


def commands(app: Any) -> dict[tuple[str, ...], Any]:
    """Every command by its words."""
    found: dict[tuple[str, ...], Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))
        if not hasattr(command, "commands"):
            found[words] = command

    walk(app, ())
    return found


class Commands:
    """A directory to work in, with a network, runs, a record and an experiment, and no way to the network outside."""

    def __init__(self, scratch: Path, corpus: Corpus) -> None:
        self.place = scratch / "place"
        self.place.mkdir()
        (self.place / "model.safetensors").write_bytes(corpus.network.read_bytes())
        for name, source in (("runs", corpus.runs), ("record", corpus.record), ("fitted", corpus.fitted)):
            shutil.copytree(source, self.place / name)
        (self.place / "own.csv").write_bytes(corpus.files["own.csv"])
        self.experiment = corpus.files["experiment"]
        self.command = typer.main.get_command(cli.app)
        self.known = commands(self.command)
        self.machine = bench.machine()  # two seconds of measuring, once
        self.words = [*_WORDS, "model.safetensors", "runs", "record", "own.csv", "fitted"]

    def call(self, words: tuple[str, ...], random: Random) -> object:
        (self.place / "tiny.json").write_bytes(
            self.experiment if random.random() < 0.7 else altered_json(self.experiment, random)
        )
        arguments = self.arguments(words, random)
        with self.alone():
            code, text = self.outcome(arguments)
        lines = text.splitlines()
        if code not in (0, 1, 2) or "Traceback" in text or "noisyrnn: unexpected " in text:
            raise Wrong(f"{arguments}: exit code {code}: {text[-1500:]}")
        if code and len(lines) != 1 and len(arguments) > 1:
            raise Wrong(f"{arguments}: {len(lines)} lines on stderr: {text[-1500:]}")
        if code and len(text) > 3000 and max(map(len, arguments)) < 1000:
            raise Wrong(f"{arguments}: {len(text)} letters on stderr: {text[:500]}")
        return code

    def arguments(self, words: tuple[str, ...], random: Random) -> list[str]:
        if random.random() < 0.1:
            return [*words, *_MEANT.get(words[-1], ())]
        found = [*words, *(_CHEAP.get(words[-1], ()) if random.random() < 0.95 else ())]
        if words[-1] == "run" and "--seeds" not in found:
            return [*found, random.choice(("nobody", "--nothing", "table-99"))]  # whole tables take hours
        for parameter in self.known[words].params:
            if parameter.param_type_name == "argument":
                found += [self.word(parameter, random) for _ in range(random.choice((1, 1, 1, 2, 0)))]
            elif random.random() < 2.5 / len(self.known[words].params):
                found.append(random.choice(parameter.opts))
                if not parameter.is_flag:
                    found.append(self.word(parameter, random))
        if words[0] == "run" and "--out" not in found:
            found += ["--out", "out"]
        if words[0] == "theory" and "--problem" not in found and "--model" not in found and random.random() < 0.7:
            known = {"hessian": ["model.safetensors"], "explanation": ["record"]}
            found += known.get(words[-1], ["--model", "model.safetensors"])
        return found

    def word(self, parameter: Any, random: Random) -> str:
        name = parameter.name or ""
        likely = {
            "given": random.choice(("fitted", "model.safetensors", "own.csv")), "file": "own.csv", "valid": "own.csv",
            "model": random.choice(("model.safetensors", "fitted", "noisy", "lstm")), "models": "model.safetensors",
            "directory": "record", "runs": "runs", "target": random.choice(("record", "label")), "out": "out",
            "experiments": "tiny.json", "record": "record", "data": "digits",
        }  # fmt: skip
        if name in ("workers", "epochs", "hidden"):  # many of them take hours
            return random.choice(("0", "-1", "x", "1", "99999999999999999999"))
        if name == "budget":
            return random.choice(("quick", "quick", "", "slow"))
        if name == "experiments":  # whole tables take hours
            return random.choice(("tiny.json", "tiny.json", "nobody", "", "own.csv", "none.json", "record"))
        return likely[name] if name in likely and random.random() < 0.6 else random.choice(self.words)

    def outcome(self, arguments: list[str]) -> tuple[Any, str]:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", ["noisyrnn", *arguments]),
            contextlib.chdir(self.place),
        ):
            try:
                cli.main()
            except SystemExit as left:
                return left.code or 0, err.getvalue()
        return None, err.getvalue()

    def inside(self, path: Path, content: bytes) -> Path:
        """Nothing is written but where the command was told to work."""
        if not path.resolve().is_relative_to(self.place.parent.resolve()):
            raise Wrong(f"{path} was to be written")
        return _write_beside(path, content)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing is fetched, measured for minutes or trained for hours."""

        def unreachable(url: str, target: Path, *, advance: object) -> None:
            raise Unreachable(f"{url} cannot be reached.")

        def absent(package: object, directory: Path) -> Path:
            raise Unreachable("No package can be fetched.")

        def demonstrated(**given: object) -> None:
            raise Unreachable("The demonstration takes a minute.")

        variables = {"NOISYRNN_CACHE": str(self.place / "cache"), "COLUMNS": "80"}
        with (
            mock.patch("noisyrnn.data.fetching.download", unreachable),
            mock.patch("noisyrnn.data.mirrors.archive", absent),
            mock.patch("typer.main.get_command", return_value=self.command),  # built anew it is most of a case
            mock.patch("noisyrnn.bench.bench", return_value=[]),
            mock.patch("noisyrnn.bench.machine", return_value=self.machine),
            mock.patch("noisyrnn.estimator.demonstration.demonstrate", demonstrated),
            mock.patch("noisyrnn.cli.experiments.perform", _performed),
            mock.patch("noisyrnn.disk.write_beside", self.inside),
            mock.patch.dict(os.environ, variables),
        ):
            yield


_perform, _write_beside = cli.experiments.perform, disk.write_beside


def _performed(wanted: Any, out: Path, **given: Any) -> Any:
    from noisyrnn.experiments import Outcome

    small = all(one.name != "demo" and len(one.recipes) * one.seeds < 4 for one in wanted)
    short = small and all(recipe.train.epochs < 5 for one in wanted for recipe in one.recipes.values())
    return _perform(wanted, out, **given) if short else Outcome()


def shares(known: dict[tuple[str, ...], Any]) -> dict[tuple[str, ...], int]:
    """How many of a thousand cases each command gets."""
    return {words: max(1, round(12 * _SLOW.get(words[-1], 1))) for words in known}
