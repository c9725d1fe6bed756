"""Every classifier on the same disturbed series: one fault at one severity at a time, kept on the disk if asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from noisyrnn import disk
from noisyrnn.auditing.answers import Answers
from noisyrnn.auditing.examined import Examined
from noisyrnn.auditing.series import Series
from noisyrnn.perturb import Graded, Spread
from noisyrnn.randomness import stream
from noisyrnn.setting import canonical

CLEAN = ("clean", 0)
Place = tuple[str, int]


@dataclass(kw_only=True, eq=False)
class Question:
    """Test series with their classes, the unit of severities, the table of faults, and the seed."""

    series: Series
    y: NDArray[np.int64]
    spread: Spread
    table: dict[str, Graded]
    seed: int
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        unit = self.spread.unit.numpy().tobytes() + self.spread.centre.numpy().tobytes()
        self.fingerprint = hashlib.sha256(
            self.series.fingerprint.encode() + self.y.tobytes() + unit + str(self.seed).encode()
        ).hexdigest()

    def places(self) -> list[Place]:
        """All faults and severities, in order."""
        return [(name, k) for name, graded in self.table.items() for k in range(1, len(graded.faults) + 1)]

    def disturbed(self, place: Place) -> Series:
        """The whole test set under a fault: one generator for each fault and severity, whatever is asked of whom."""
        name, severity = place
        if place == CLEAN:
            return self.series
        generator = stream("audit", name, severity, self.seed)
        fault = self.table[name].at(severity)
        x = self.spread.disturbed(fault, self.series.x, generator, lengths=self.series.lengths)
        return self.series.with_x(x)


_Finding = TypeVar("_Finding", bound=BaseModel)


class Kept:
    """Answers and findings on the disk, by classifier, data and place; a damaged file counts as none."""

    def __init__(self, directory: Path | None, question: Question) -> None:
        self._directory, self._question = directory, question

    def _path(self, who: str, what: str, suffix: str) -> Path | None:
        if self._directory is None:
            return None
        address = hashlib.sha256("|".join([who, self._question.fingerprint, what]).encode()).hexdigest()
        return self._directory / address[:2] / f"{address[2:34]}{suffix}"

    def _cell(self, who: str, place: Place) -> Path | None:
        fault = "" if place == CLEAN else canonical(self._question.table[place[0]].at(place[1]))
        return self._path(who, f"{place[0]}|{fault}", ".npz")

    def read(self, who: str, place: Place) -> Answers | None:
        """Answers to the series of a place."""
        path = self._cell(who, place)
        try:
            return None if path is None else Answers.from_bytes(path.read_bytes(), len(self._question.series))
        except Exception:  # a damaged archive has many ways to say so
            return None

    def write(self, who: str, place: Place, answers: Answers) -> None:
        path = self._cell(who, place)
        if path is not None:
            disk.replace(path, answers.to_bytes())

    def finding(self, who: str, what: str, kind: type[_Finding], make: Callable[[], _Finding]) -> _Finding:
        """What was found before under this name, or what is made now and kept."""
        path = self._path(who, what, ".json")
        if path is None:
            return make()
        try:
            return kind.model_validate_json(path.read_bytes())
        except (OSError, ValueError):
            found = make()
            disk.replace(path, found.model_dump_json().encode())
            return found


@dataclass(eq=False)
class Sheet:
    """One classifier's answers so far, and the seconds that they took."""

    one: Examined
    who: str
    clean: Answers
    cells: dict[Place, Answers] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: bool = False


def answer_sheets(
    examined: Iterable[Examined],
    question: Question,
    kept: Kept,
    *,
    patience: float,
    told: Callable[[Examined, int], None],
) -> list[Sheet]:
    """Answers of all classifiers under all faults: the disturbed series are made once and then forgotten.

    Who has used more than ``patience`` seconds is asked no more, and the rest of its cells stay empty.
    """
    sheets = []
    for one in examined:
        began = monotonic()
        clean = one.answers(question.series, question.y, "on clean series")
        sheet = Sheet(one, one.fingerprint(clean), clean, seconds=monotonic() - began)
        sheets.append(sheet)
        told(one, len(question.series))
    for place in question.places():
        lacking = []
        for sheet in sheets:
            found = kept.read(sheet.who, place)
            if found is None:
                lacking.append(sheet)
            else:
                sheet.cells[place] = found
                told(sheet.one, len(question.series))
        if lacking:
            _fill(lacking, question, place, kept, patience, told)
    return sheets


def _fill(
    sheets: list[Sheet],
    question: Question,
    place: Place,
    kept: Kept,
    patience: float,
    told: Callable[[Examined, int], None],
) -> None:
    series = question.disturbed(place)
    for sheet in _patient(sheets, patience):
        began, before = monotonic(), str(sheet.one.complaints)
        found = sheet.one.answers(series, question.y, f"under {place[0]} at severity {place[1]}")
        sheet.seconds += monotonic() - began
        sheet.cells[place] = found
        if str(sheet.one.complaints) == before:  # what went wrong is tried and told again next time
            kept.write(sheet.who, place, found)
        told(sheet.one, len(question.series))


def _patient(sheets: list[Sheet], patience: float) -> Iterator[Sheet]:
    for sheet in sheets:
        if sheet.seconds <= patience:
            yield sheet
        elif not sheet.stopped:
            sheet.stopped = True
            sheet.one.complain(
                f"is slow: after {sheet.seconds:.0f} s it was asked no more (patience {patience:g} s); "
                f"{len(sheet.cells)} cells were measured"
            )
