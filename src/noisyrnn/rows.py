"""Rows: one measurement each, in fields. Whatever writes, reads, compares or shows results speaks of this one value.

Without torch. Labels for people are made from these fields at the very end (``noisyrnn.report.labels``), and nothing
reads a label back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from noisyrnn.disk import DamagedFile, read
from noisyrnn.setting import Setting, sentence

PAPER = "paper"
"""Protocol of an experiment as the paper describes it; ``OURS`` is that of what the paper does not have."""
OURS = "ours"
SEEDS = 10
"""Of the paper's protocol."""

TASK = r"^[a-z0-9][a-z0-9._-]{0,99}$"
"""A data set's name in names of files."""

Column = tuple[str, float]
"""A measure and its strength, such as ("white", 0.2)."""
CLEAN: Column = ("clean", 0.0)

_MOST = 256 * 2**20  # bytes of one file of rows: 300,000 of them


class Description(Setting):
    """Which network a recipe makes, for names in tables: its kind, its noise, and what else sets it apart.

    A recipe is a model and how it is trained, one line of a table. Strengths are those that it is known by; ``variant``
    is in words, such as "input noise 0.8".
    """

    kind: str = Field(min_length=1)
    multiplicative: float | None = None
    additive: float | None = None
    convention: str = ""
    variant: str = ""

    @property
    def strengths(self) -> tuple[float, float] | None:
        """Multiplicative and additive noise, of a network that has any."""
        if self.multiplicative is None or self.additive is None:
            return None
        return self.multiplicative, self.additive


class Regime(NamedTuple):
    """How a run was trained: a protocol, and the overrides in which it departs from it; seeds are not among them."""

    protocol: str
    overrides: tuple[tuple[str, str], ...] = ()

    @property
    def paper(self) -> bool:
        """Whether nothing was changed."""
        return self == (PAPER, ())

    def label(self, seeds: int = SEEDS) -> str:
        """The regime of a mean over ``seeds`` runs, in words: "paper" only if nothing was reduced.

        >>> Regime("paper").label(), Regime("paper").label(3), Regime("paper", (("epochs", "30"),)).label(1)
        ('paper', 'reduced: seeds 3', 'reduced: epochs 30, seeds 1')
        """
        changes = [f"{name} {value}" if name == "epochs" else f"{name}={value}" for name, value in self.overrides]
        if self.protocol != PAPER:
            return ", ".join((self.protocol, *changes))
        changes += [f"seeds {seeds}"] if seeds < SEEDS else []
        return f"reduced: {', '.join(changes)}" if changes else PAPER


class Row(Setting):
    """One accuracy in percent: of one run under one measure at one level, for one experiment.

    >>> row = Row(experiment="table-3", model="lipschitz", description=Description(kind="lipschitz"), key="a", seed=0,
    ...           epochs=30, overrides={"epochs": 30, "seeds": 1}, task="ecg", measure="white", level=0.4, value=97.1)
    >>> row.column, row.regime.label(1)
    (('white', 0.4), 'reduced: epochs 30, seeds 1')
    """

    experiment: str
    """For which table or figure."""
    model: str
    """The recipe's name there."""
    description: Description
    key: str
    """The run's identity: of data, model, training and seed."""
    seed: int
    epochs: int
    protocol: str = PAPER
    overrides: dict[str, Any] = Field(default={})
    """What the run changes of the protocol: {"epochs": 30, "seeds": 1, "train.lr": 0.01}."""
    task: str = Field(pattern=TASK)
    """What files and tables call the data set: "ecg", "ordered-mnist"."""
    data: dict[str, Any] = Field(default={})
    """The data set: its kind, and the settings that are not at their defaults."""
    part: str = "test"
    measure: str
    level: float = 0.0
    budget: dict[str, Any] = Field(default={})
    """What an attack, or a proof that none succeeds, may spend: steps, restarts, draws."""
    measurement: str = ""
    """Digits that tell measurements apart which differ in more than measure and level."""
    value: float = Field(ge=0, le=100)
    samples: int = 0
    verified: bool = True
    """Whether the data had the checksums that are known of them."""
    contract: int = 1
    """Of the noise: which published generator made it."""
    version: str = "unknown"
    host: str = "unknown"
    seconds: float = 0.0
    created: str = ""

    @property
    def column(self) -> Column:
        """Measure and strength; the strength is rounded, so that 0.1 + 0.2 meets 0.3."""
        return self.measure, round(self.level, 9)

    @property
    def regime(self) -> Regime:
        """How the run was trained; the number of seeds is left out, because no single run depends on it."""
        return Regime(
            self.protocol, tuple((name, plain(v)) for name, v in sorted(self.overrides.items()) if name != "seeds")
        )

    @property
    def protocol_label(self) -> str:
        """The protocol in words, seeds included."""
        seeds = self.overrides.get("seeds")
        if seeds is not None and self.protocol != PAPER:
            return Regime(self.protocol, (*self.regime.overrides,)).label() + f", seeds {seeds}"
        if not isinstance(seeds, int):
            return self.regime.label() if seeds is None else f"{self.regime.label()}, seeds {plain(seeds)}"
        return self.regime.label(seeds)

    @property
    def cell(self) -> tuple[str, ...]:
        """What is measured, for whom: two rows with the same cell say the same thing."""
        return (self.experiment, self.model, self.key, self.measurement or f"{self.measure} {self.level!r}")


def plain(value: Any) -> str:
    """A setting's value as one would type it.

    >>> plain("rmsprop"), plain(0.01), plain(True), plain({"90": 0.1})
    ('rmsprop', '0.01', 'true', '{"90":0.1}')
    """
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True)
class Reading:
    """Rows, each cell once, and what was left out."""

    rows: tuple[Row, ...]
    files: int = 0
    torn: int = 0
    duplicates: int = 0
    conflicts: int = 0


def distinct(rows: Iterable[Row], files: int = 0, torn: int = 0) -> Reading:
    """Each cell once: the first row counts; of equal ones that under the paper's full protocol; others are conflicts.

    Experiments may share a run, so that a key alone does not tell what a row is for.
    """
    kept: dict[tuple[str, ...], Row] = {}
    duplicates = conflicts = 0
    for row in rows:
        earlier = kept.setdefault(row.cell, row)
        if earlier is row:
            continue
        duplicates += 1
        conflicts += earlier.value != row.value
        # Another value is no better for its protocol: somebody has to find out which of the two is right.
        if row.value == earlier.value and row.protocol == PAPER and not row.overrides:
            kept[row.cell] = row
    return Reading(tuple(kept.values()), files, torn, duplicates, conflicts)


def rows_in(path: Path) -> tuple[list[Row], int]:
    """The rows of a file with one JSON object per line, and how many lines a killed writer has torn: the last, or none.

    Any other damage is refused, with the number of the line.

    >>> import tempfile
    >>> line = Row(experiment="demo", model="lstm", description=Description(kind="lstm"), key="a", seed=0, epochs=1,
    ...            task="digits", measure="clean", value=97.5).model_dump_json()
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "rows.jsonl")
    ...     _ = path.write_text(f'{line}\\n{{"exper')
    ...     rows, torn = rows_in(path)
    >>> len(rows), torn
    (1, 1)
    """
    found: list[Row] = []
    lines = read(path, most=_MOST).split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(Row.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines):  # a whole line ends with its line end
                return found, 1
            reason = sentence(error).rstrip(".")
            raise DamagedFile(
                f"{path}, line {number} is no row ({reason}): repair that line, or remove it to measure again."
            ) from error
    return found, 0
