"""Requirements for a gate: ``noise@3 >= 0.9``, ``worst >= 0.6``, ``robust: attack@0.1 >= 0.5``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from noisyrnn.auditing.findings import Report

_SHAPE = re.compile(
    r"\s*(?:(?P<who>[^:@<>=]+):)?\s*(?P<what>[a-z][a-z -]*?)\s*(?:@\s*(?P<at>[\d.]+))?\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<number>[\d.]+)\s*(?P<percent>%?)\s*"
)
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_WHOLE = ("clean", "mean", "unseen", "worst", "mce", "relative mce", "ece", "brier", "attack", "certified")


@dataclass(frozen=True)
class Requirement:
    """A number of a report that must not fall below, or rise above, another."""

    text: str
    who: str | None
    what: str
    at: float | None
    sign: str
    number: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """From a sentence.

        >>> Requirement.parse("noise@3 >= 90%").number
        0.9
        >>> Requirement.parse("noise at 3")
        Traceback (most recent call last):
        ValueError: 'noise at 3' is no requirement: write it as "noise@3 >= 0.9", "worst >= 0.6" or "name: mean >= 0.7".
        """
        found = _SHAPE.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            number = float(found["number"]) / (100 if found["percent"] else 1)
            at = None if found["at"] is None else float(found["at"])
        except ValueError:
            raise ValueError(
                f'{text!r} is no requirement: write it as "noise@3 >= 0.9", "worst >= 0.6" or "name: mean >= 0.7".'
            ) from None
        who = found["who"].strip() if found["who"] else None
        return cls(text.strip(), who, found["what"].strip(), at, found["sign"], number)

    def failures(self, reports: Sequence[Report]) -> list[str]:
        """A sentence for each classifier that does not meet it; the reference needs not."""
        asked = [one for one in reports if not one.reference and (self.who is None or one.name == self.who)]
        if not asked:
            names = ", ".join(one.name for one in reports if not one.reference)
            raise ValueError(f"{self.text!r} names no classifier of this audit: there are {names}.")
        said = []
        for report in asked:
            if report.failed is not None:
                said.append(f"{report.name}: {self.text} fails: it could not be examined ({report.failed}).")
                continue
            value = self.value(report)
            if value is None:
                said.append(f"{report.name}: {self.text} fails: that was not measured.")
            elif not _SIGNS[self.sign](value, self.number):
                said.append(f"{report.name}: {self.text} fails: it is {value:.4g}.")
        return said

    def value(self, report: Report) -> float | None:
        """The number that is meant; None where it was not measured."""
        if self.what == "attack" and report.attack is not None:
            radius = 0.1 if self.at is None else self.at
            found = dict(zip(report.attack.radii, report.attack.accuracy, strict=True)).get(radius)
            return None if found is None else found.value
        if self.what == "certified":
            at = 0.1 if self.at is None else self.at
            rates = [dict(zip(one.radii, one.accuracy, strict=True)).get(at) for one in report.certificates]
            return max((rate for rate in rates if rate is not None), default=None)
        whole: dict[str, float | None] = {
            "clean": report.clean.accuracy.value if report.clean else None,
            "mean": report.mean.value if report.mean else None,
            "unseen": report.unseen_mean.value if report.unseen_mean else None,
            "worst": report.worst.value if report.worst else None,
            "mce": report.mce,
            "relative mce": report.relative_mce,
            "ece": report.clean.calibration if report.clean else None,
            "brier": report.clean.brier if report.clean else None,
        }
        if self.what in whole and self.at is None:
            return whole[self.what]
        cells = [one for one in report.cells if one.fault == self.what]
        if not cells and report.cells and self.what not in _WHOLE:
            known = ", ".join(dict.fromkeys(one.fault for one in report.cells))
            raise ValueError(
                f"{self.text!r}: no fault {self.what!r} was measured; there are {known}, {', '.join(_WHOLE)}."
            )
        if self.at is None:
            return report.by_fault[self.what].value if self.what in report.by_fault else None
        found_cell = report.cell(self.what, int(self.at)) if self.at == int(self.at) else None
        return None if found_cell is None else found_cell.accuracy.value
