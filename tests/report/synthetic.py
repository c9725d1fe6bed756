"""Rows that nobody measured, for tests only: seeded draws around the paper's numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from noisyrnn.report.paper import TABLES, TASKS
from noisyrnn.report.rows import Row


def record(**changes: Any) -> dict[str, Any]:
    """One row as a run would write it."""
    content: dict[str, Any] = {
        "experiment": "table-3", "model": "lipschitz", "seed": 0, "measure": "clean", "level": 0, "value": 97.0,
        "samples": 4000, "epochs": 100, "protocol": "paper", "data": "synthetic", "version": "0.0-synthetic",
        "seconds": 60.0, "host": "synthetic", "created": "2001-01-01T00:00:00Z",
    }  # fmt: skip
    content |= changes
    return {"key": f"{content['experiment']}/{content['model']}/{content['protocol']}/{content['seed']}", **content}


def row(**changes: Any) -> Row:
    return Row.model_validate(record(**changes))


def write(file: Path, records: Iterable[dict[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return file


def tables(names: Iterable[str], seeds: int = 10, spread: float = 0.4, **changes: Any) -> Iterator[dict[str, Any]]:
    """Each printed cell with noise: one deviation of the seed, one of the run."""
    draw = random.Random(2021)
    for name in names:
        table = TABLES[name]
        for model, numbers in table.lines.items():
            for seed in range(seeds):
                for (measure, level), number in zip(table.columns, numbers, strict=True):
                    value = min(100.0, number + draw.gauss(0, spread * (100 - number) ** 0.4 + 0.02))
                    content = {"experiment": name, "model": model, "seed": seed, "measure": measure, "level": level}
                    yield record(**content, value=value, **changes)


def curves(
    figure: str, levels: Iterable[float], seeds: int = 10, models: Iterable[str] = ()
) -> Iterator[dict[str, Any]]:
    """A fine grid between and beyond the printed points, for the figure of a task."""
    draw = random.Random(2021)
    task = next(task for task in TASKS if task.figure == figure)
    printed = TABLES[task.tables[0]]
    for model in models or printed.lines:
        for measure in sorted({measure for measure, _ in printed.columns} - {"clean"}):
            points = [(level, printed.number(model, (name, level))) for name, level in printed.columns]
            known = [(level, number) for (name, _), (level, number) in zip(printed.columns, points, strict=True)
                     if name in ("clean", measure) and number is not None]  # fmt: skip
            for level, seed in ((level, seed) for level in levels for seed in range(seeds)):
                value = float(np.interp(level, *zip(*known, strict=True))) + draw.gauss(0, 0.3 + level)
                content = {"experiment": figure, "model": model, "seed": seed, "measure": measure, "level": level}
                yield record(**content, value=min(100.0, value))
