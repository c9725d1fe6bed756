"""Rows: one measured accuracy each, as runs write them, one JSON object a line in files named rows.jsonl."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from noisyrnn.report.paper import SEEDS, Column

_REDUCED = "reduced: "

Level = Annotated[float, BeforeValidator(lambda level: 0.0 if level is None else level)]


class Row(BaseModel):
    """One accuracy in percent: of one run (key, model, seed), under one measure at one level.

    >>> row = Row(experiment="table-3", key="a", model="lipschitz", seed=0, measure="white", level=0.4, value=97.1,
    ...           epochs=30, protocol="reduced: epochs 30, seeds 1")
    >>> row.column, row.regime
    (('white', 0.4), 'reduced: epochs 30')
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, coerce_numbers_to_str=True)

    experiment: str
    key: str
    model: str
    seed: int
    measure: str
    level: Level = 0.0
    value: float = Field(ge=0, le=100)
    epochs: int
    protocol: str
    samples: int = 0
    data: str = "unknown"
    version: str = "unknown"
    seconds: float = 0.0
    host: str = "unknown"
    created: str = ""
    measurement: str = ""

    @property
    def column(self) -> Column:
        """Measure and strength; the strength is rounded, so that 0.1 + 0.2 meets 0.3."""
        return self.measure, round(self.level, 9)

    @property
    def regime(self) -> str:
        """How the run was trained: its protocol without the number of seeds, which no single run depends on."""
        clauses = self.protocol.removeprefix(_REDUCED).split(", ")
        kept = ", ".join(clause for clause in clauses if not re.fullmatch(r"seeds \d+", clause))
        if not self.protocol.startswith(_REDUCED):
            return kept
        return f"{_REDUCED}{kept}" if kept else "paper"


def protocol(regime: str, seeds: int) -> str:
    """The label of a mean over ``seeds`` runs of a regime: "paper" only if nothing was reduced.

    >>> protocol("paper", 10), protocol("paper", 3), protocol("reduced: epochs 30", 1)
    ('paper', 'reduced: seeds 3', 'reduced: epochs 30, seeds 1')
    """
    if seeds >= SEEDS or not (regime == "paper" or regime.startswith(_REDUCED)):
        return regime
    return f"reduced: seeds {seeds}" if regime == "paper" else f"{regime}, seeds {seeds}"


@dataclass(frozen=True)
class Reading:
    """All rows below a directory, each once, and what was left out."""

    rows: tuple[Row, ...]
    files: int = 0
    torn: int = 0
    duplicates: int = 0
    conflicts: int = 0


def read(directory: Path | str) -> Reading:
    """Every row in every rows.jsonl below ``directory``.

    A last line without its line end that is no row was torn by a killed writer: it is skipped and counted. Any other
    broken line is an error. A row that says again what another said counts once: the first stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     text = '{"experiment": "demo", "key": "a", "model": "lstm", "seed": 0, "measure": "clean", "value": 97.5,'
    ...     text += '"epochs": 1, "protocol": "ours"}\\n{"exper'
    ...     _ = Path(directory, "rows.jsonl").write_text(text)
    ...     reading = read(directory)
    >>> len(reading.rows), reading.torn
    (1, 1)
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise ValueError(f"There is no directory {directory}; name the directory that holds the rows of a run.")
    files = sorted(directory.rglob("rows.jsonl"))
    found: list[Row] = []
    torn = 0
    for file in files:
        rows, broken = _rows(file)
        found += rows
        torn += broken
    if not found:
        seen = f"{len(files)} files named rows.jsonl without a whole row" if files else "no file named rows.jsonl"
        raise ValueError(f"No rows found below {directory} ({seen}); make some with: noisyrnn run table-3.")
    return distinct(found, files=len(files), torn=torn)


def distinct(rows: Iterable[Row], files: int = 0, torn: int = 0) -> Reading:
    """Each measurement of each run once in an experiment; a duplicate with another value also counts as a conflict.

    Experiments may share a run, so that a key alone does not tell what a row is for.
    """
    first: dict[tuple[object, ...], Row] = {}
    duplicates = conflicts = 0
    for row in rows:
        kept = first.setdefault((row.experiment, row.model, row.key, row.column, row.measurement), row)
        if kept is not row:
            duplicates += 1
            conflicts += kept.value != row.value
    return Reading(tuple(first.values()), files, torn, duplicates, conflicts)


def _rows(file: Path) -> tuple[list[Row], int]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from error
    lines = content.split(b"\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(Row.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines):
                return rows, 1
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            reason = f"{place}: {first['msg']}" if place else first["msg"]
            raise ValueError(f"{file}, line {number} is no row ({reason}); repair or remove that line.") from None
    return rows, 0
