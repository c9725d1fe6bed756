"""Targets: one for each kind of file, called through the functions that users and runners call."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from corpus import MEMBER, Corpus
from forgery import damaged_checkpoint, damaged_classifier, forged_network, forged_resumption
from mutation import altered_bytes, altered_json, altered_lines, altered_value

from noisyrnn import data, experiments
from noisyrnn.about import ABOUT, abouts_in
from noisyrnn.data import Columns, Table, idx
from noisyrnn.data.archives import read_uncompressed
from noisyrnn.experiments.plan import jobs
from noisyrnn.experiments.record.published import SOURCES, run_of
from noisyrnn.experiments.record.summaries import TABLE, THEORY, summaries_in, summary_of
from noisyrnn.experiments.store.lease import MARKER, hold_lease
from noisyrnn.experiments.store.progress_file import PROGRESS, under_way
from noisyrnn.experiments.store.run_directory import DONE, SPEC, RunDirectory
from noisyrnn.record_tables import ROWS, RUNS
from noisyrnn.report import report
from noisyrnn.train import Train

Alter = Callable[[bytes, Random, bytes], bytes]


class Wrong(Exception):
    """A target noticed something that must not be."""


@dataclass(frozen=True)
class Target:
    """What is called, and how many of a thousand cases it gets."""

    call: Callable[[Random], object]
    share: int


class Places:
    """Directories that cases may spoil: put back as they were before each use."""

    def __init__(self, scratch: Path, corpus: Corpus) -> None:
        self.scratch, self.corpus = scratch, corpus
        self.runs = shutil.copytree(corpus.runs, scratch / "runs")
        self.record = shutil.copytree(corpus.record, scratch / "record")
        self.run = RunDirectory(self.runs / corpus.run.key)

    def spoil(self, own: Path, whole: Path, name: str, random: Random, alter: Alter) -> None:
        """``own``, a copy of ``whole``, with one file of it altered and all others as they were."""
        for path in whole.rglob("*"):
            copy = own / path.relative_to(whole)
            if path.is_file() and (not copy.is_file() or copy.read_bytes() != path.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        for path in own.rglob("*"):
            if path.is_file() and not (whole / path.relative_to(own)).exists():
                path.unlink()
        target = next(path for path in own.rglob("*") if path.match(name))
        target.write_bytes(alter(target.read_bytes(), random, self.corpus.files["experiment"]))


def altered_inside(name: str, content: bytes, random: Random) -> bytes:
    """The file altered, or what it has packed, so that the damage lies behind the sums of the packing."""
    if random.random() < 0.6 and name.endswith(".gz"):
        return gzip.compress(altered_inside(name.removesuffix(".gz"), gzip.decompress(content), random), 1)
    if random.random() < 0.7 and name.endswith((".npz", ".zip")):
        held = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as after:
            for member in before.namelist():
                inside = before.read(member)
                after.writestr(member, altered_bytes(inside, random) if random.random() < 0.5 else inside)
        return held.getvalue()
    return altered_bytes(content, random, b"@data\n'\"\x00NaN,,?")


def read_table(scratch: Path, name: str, content: bytes) -> Callable[[Random], object]:
    def call(random: Random) -> object:
        path = scratch / name
        path.write_bytes(altered_inside(name, content, random))
        case, label = random.choice((None, "id")), random.choice((None, None, 0, -1, 7, "label", "state"))
        columns = Columns(label=label, case=case, time=random.choice((None, "time")), padded=random.random() < 0.5)
        if random.random() < 0.3:
            return data.load(Table(path=path, label=label, case=case, padded=columns.padded))
        return data.read(path, columns)

    return call


def read_packed(scratch: Path, name: str, content: bytes) -> Callable[[Random], object]:
    def call(random: Random) -> object:
        path = scratch / name
        path.write_bytes(altered_inside(name, content, random))
        found = read_uncompressed(path, MEMBER if name.startswith("archive") else None)
        return idx.array(found, file=name) if name.startswith("idx") else data.formats.contents(found, "own.csv")

    return call


def read_idx(content: bytes) -> Callable[[Random], object]:
    return lambda random: idx.array(altered_bytes(content, random), file="idx")


def run_file(places: Places, name: str, alter: Alter) -> Callable[[Random], object]:
    def call(random: Random) -> object:
        places.spoil(places.runs, places.corpus.runs, name, random, alter)
        place = places.run
        for asked in random.sample((place.spec, place.rows, place.states, lambda: summary_of(place), under), 5):
            asked()
        done = place.done()
        return done and place.network(done)

    def under() -> object:
        return under_way(places.runs)

    return call


def swept(places: Places, alter: Alter) -> Callable[[Random], object]:
    """The whole runner over a directory with one damaged file: each failure is a sentence, and nothing is thrown."""

    def call(random: Random) -> object:
        name = random.choice((DONE, SPEC, "rows-*.jsonl", "state-*.safetensors", "claim-*", ABOUT))
        kind = altered_bytes if name.startswith(("state", "claim")) else altered_lines if "rows" in name else alter
        places.spoil(places.runs, places.corpus.runs, name, random, kind)
        if random.random() < 0.5:
            for path in places.runs.rglob(random.choice((DONE, "rows-*.jsonl"))):
                path.unlink()
        outcome = experiments.run(places.corpus.experiment, places.runs)
        for failure in outcome.failures.values():
            if "\n" in failure or failure.split(":")[0].endswith(("Error", "Exception")):
                raise Wrong(failure)
        return outcome

    return call


def leased(scratch: Path, content: bytes) -> Callable[[Random], object]:
    directory = scratch / "leased"

    def call(random: Random) -> object:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / MARKER).write_bytes(altered_bytes(content, random) if random.random() < 0.9 else b"")
        with hold_lease(directory) as lease:
            return lease

    return call


def watched(scratch: Path, content: bytes) -> Callable[[Random], object]:
    path = scratch / "watched" / "run" / PROGRESS
    path.parent.mkdir(parents=True)

    def call(random: Random) -> object:
        path.write_bytes(altered_json(content, random))
        return under_way(path.parent.parent)

    return call


def record_file(places: Places, name: str, alter: Alter) -> Callable[[Random], object]:
    def call(random: Random) -> object:
        places.spoil(places.record, places.corpus.record, name, random, alter)
        record = experiments.Record(places.record)
        match random.randrange(5):
            case 0:
                return [run_of(record.line(name)) for name in record.names()], record.sources()
            case 1:
                return experiments.read_results(places.record)
            case 2:
                return summaries_in(places.record), abouts_in(places.record), record.rows()
            case 3:
                return report(places.record, places.scratch / "report")
        return experiments.merge(places.corpus.runs, places.record)

    return call


def experiment_file(scratch: Path, content: bytes) -> Callable[[Random], object]:
    def call(random: Random) -> object:
        path = scratch / "experiment.json"
        path.write_bytes(altered_json(content, random))
        found = experiments.experiment(str(path))
        return jobs([found]) if found.seeds * len(found.recipes) < 100 else found

    return call


def settings(corpus: Corpus) -> Callable[[Random], object]:
    """Settings that somebody writes in Python, and overrides that somebody types."""
    from noisyrnn.attack import PGD
    from noisyrnn.models import CoRNNSetting, ExpRNNSetting, Noisy
    from noisyrnn.perturb import BaselineWander, SaltAndPepper, White

    kinds = (Noisy, CoRNNSetting, ExpRNNSetting, Train, White, SaltAndPepper, BaselineWander, PGD, data.UCR, Table)

    def call(random: Random) -> object:
        kind = random.choice(kinds)
        names = [*kind.model_fields, "nme", "\n"]
        told = {random.choice(names): altered_value({"a": 1}, random) for _ in range(random.randrange(4))}
        if random.random() < 0.5:
            return kind(**told)
        key = random.choice(("train.", "model.", "data.", "", ".")) + random.choice(names)
        text = f"{key}={json.dumps(altered_value({'a': 1}, random))}"
        overrides = dict([experiments.override(text if random.random() < 0.9 else text[::-1])])
        return experiments.reduced(corpus.experiment, overrides=overrides)

    return call


def targets(scratch: Path, corpus: Corpus) -> dict[str, Target]:
    """Every target by name."""
    files, places = corpus.files, Places(scratch, corpus)
    tables = [name for name in files if name.split(".")[0] in ("own", "long", "relational", "packed", "lists")]
    found = {name: Target(read_table(scratch, name, files[name]), 25) for name in tables}
    packed = [name for name in files if name in ("archive.zip", "archive.tgz", "idx.gz")]
    found |= {name: Target(read_packed(scratch, name, files[name]), 25) for name in packed}
    found |= {
        "idx": Target(read_idx(files["idx"]), 15),
        "checkpoint": Target(damaged_checkpoint(scratch, files["network"]), 40),
        "checkpoint, forged": Target(forged_network(scratch, corpus), 60),
        "checkpoint, resumed": Target(forged_resumption(scratch, corpus), 40),
        "fitted": Target(damaged_classifier(scratch, corpus), 50),
        "DONE": Target(run_file(places, DONE, altered_json), 30),
        "rows": Target(run_file(places, "rows-*.jsonl", altered_lines), 30),
        "spec.json": Target(run_file(places, SPEC, altered_json), 30),
        "theory.json": Target(run_file(places, THEORY, altered_json), 20),
        "lease": Target(leased(scratch, files["lease"]), 20),
        "progress.json": Target(watched(scratch, files["progress"]), 20),
        "a whole run": Target(swept(places, altered_json), 15),
        "experiments.json": Target(record_file(places, ABOUT, altered_json), 20),
        "runs.csv": Target(record_file(places, RUNS, altered_bytes), 30),
        "rows.csv": Target(record_file(places, f"{ROWS}/*.csv", altered_bytes), 30),
        "theory.csv": Target(record_file(places, TABLE, altered_bytes), 15),
        "sources.json": Target(record_file(places, SOURCES, altered_json), 15),
        "experiment": Target(experiment_file(scratch, files["experiment"]), 60),
        "settings": Target(settings(corpus), 40),
    }
    return found
