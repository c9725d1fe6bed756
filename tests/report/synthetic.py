"""Rows that nobody measured, for tests only: seeded draws around the paper's numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from noisyrnn.about import About, describe
from noisyrnn.experiments import EXPERIMENTS
from noisyrnn.reading import Results
from noisyrnn.rows import Row, distinct

ABOUTS = {name: experiment.about() for name, experiment in EXPERIMENTS.items()}
"""What the library knows of every table and figure."""
PAPER = tuple(about for about in ABOUTS.values() if about.chapter is not None)
"""The tables and figures of the paper, other readings of them included."""


def members(chapter: str) -> list[About]:
    """The experiments of one chapter."""
    return [about for about in ABOUTS.values() if about.place.name == chapter]


def described(model: str) -> dict[str, Any]:
    """What a network of that name is in the paper's tables; any other name is a kind of its own."""
    for about in PAPER:
        if model in about.models:
            return about.models[model].model_dump(mode="json")
    return {"kind": model}


def record(**changes: Any) -> dict[str, Any]:
    """One row as a run would write it."""
    content: dict[str, Any] = {
        "experiment": "table-3", "model": "lipschitz", "seed": 0, "measure": "clean", "level": 0.0, "value": 97.0,
        "samples": 4000, "epochs": 100, "protocol": "paper", "overrides": {}, "task": "ecg",
        "data": {"kind": "synthetic"}, "version": "0.0-synthetic", "seconds": 60.0, "host": "synthetic",
        "created": "2001-01-01T00:00:00Z",
    }  # fmt: skip
    content |= changes
    who = (content[name] for name in ("experiment", "model", "protocol", "overrides", "seed"))
    return {"key": "/".join(map(str, who)), "description": described(content["model"]), **content}


def row(**changes: Any) -> Row:
    return Row.model_validate(record(**changes))


def results(rows: Iterable[Row], told: Iterable[About] = ()) -> Results:
    """Rows and descriptions as if they had been read from a directory."""
    return Results(reading=distinct(rows), experiments={about.name: about for about in told})


def write(file: Path, records: Iterable[dict[str, Any]], told: Iterable[About] = ()) -> Path:
    """The file of rows, and beside it what is told of experiments."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    describe(file.parent, told)
    return file


def tables(names: Iterable[str], seeds: int = 10, spread: float = 0.4, **changes: Any) -> Iterator[dict[str, Any]]:
    """Each printed cell with noise: one deviation of the seed, one of the run."""
    draw = random.Random(2021)
    for name in names:
        table = ABOUTS[name].printed
        for model, numbers in table.lines.items():
            for seed in range(seeds):
                for (measure, level), number in zip(table.columns, numbers, strict=True):
                    value = min(100.0, number + draw.gauss(0, spread * (100 - number) ** 0.4 + 0.02))
                    content = {"experiment": name, "model": model, "seed": seed, "measure": measure, "level": level}
                    yield record(**content, value=value, **changes)


def curves(
    figure: str, levels: Iterable[float], seeds: int = 10, models: Iterable[str] = ()
) -> Iterator[dict[str, Any]]:
    """A fine grid between and beyond the printed points, for the figure of a chapter."""
    draw = random.Random(2021)
    printed = next(about.printed for about in members(ABOUTS[figure].place.name) if about.printed)
    for model in models or printed.lines:
        for measure in sorted({measure for measure, _ in printed.columns} - {"clean"}):
            points = [(level, printed.number(model, (name, level))) for name, level in printed.columns]
            known = [(level, number) for (name, _), (level, number) in zip(printed.columns, points, strict=True)
                     if name in ("clean", measure) and number is not None]  # fmt: skip
            for level, seed in ((level, seed) for level in levels for seed in range(seeds)):
                value = float(np.interp(level, *zip(*known, strict=True))) + draw.gauss(0, 0.3 + level)
                content = {"experiment": figure, "model": model, "seed": seed, "measure": measure, "level": level}
                yield record(**content, value=min(100.0, value))
