"""What an audit found, as values that go to JSON and back."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from noisyrnn.setting import Setting


class Figure(Setting):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


class Cell(Setting):
    """Answers under one fault at one severity."""

    fault: str
    group: str
    severity: int
    label: str
    """What the severity is called: 1 to 5, or decibels."""
    accuracy: Figure
    balanced: float
    calibration: float | None = None
    brier: float | None = None
    unanswered: int = 0
    """Series without an answer, which count as wrong."""


class AttackCurve(Setting):
    """Accuracy under the worst of several attacks, by radius in units of the spread of each channel."""

    method: str
    samples: int
    radii: tuple[float, ...]
    accuracy: tuple[Figure, ...]
    clean: float
    """Accuracy on the same samples without an attack."""
    queries: int
    """Passes that were allowed for a sample and radius."""


class MaskingSign(Setting):
    """A sign that an attack may have been misled."""

    name: str
    holds: bool
    weak: bool = False
    text: str


class Attacked(Setting):
    """What attacks found of one classifier."""

    curve: AttackCurve | None = None
    signs: tuple[MaskingSign, ...] = ()


class Certificate(Setting):
    """Radii within which a class provably stays, in l_2 over time and channels, in units of the spread."""

    method: str
    about: str
    """Of whom it is true: the smoothed classifier, or the classifier itself."""
    samples: int
    radii: tuple[float, ...]
    accuracy: tuple[float, ...]
    """Share of the samples that are right and certified at least so far."""
    median: float
    abstained: int = 0
    sigma: float | None = None
    confidence: float | None = None


class Certificates(Setting):
    """All certificates of one classifier."""

    found: tuple[Certificate, ...] = ()


class Example(Setting):
    """A series that was right and broke under the mildest disturbance, clean and disturbed."""

    case: int
    fault: str
    severity: int
    truth: str
    before: str
    after: str
    clean: tuple[float, ...]
    disturbed: tuple[float, ...]
    channel: int


class Report(Setting):
    """All that was found of one classifier."""

    name: str
    kind: str
    form: str = ""
    fingerprint: str = ""
    seen: tuple[str, ...] = ()
    """Faults that it declares to have seen in training."""
    failed: str | None = None
    """Why it could not be examined at all."""
    complaints: tuple[str, ...] = ()
    reference: bool = False
    clean: Cell | None = None
    cells: tuple[Cell, ...] = ()
    mean: Figure | None = None
    unseen_mean: Figure | None = None
    """Over the faults that it has not seen in training, where it declares any."""
    worst: Figure | None = None
    worst_fault: str = ""
    by_fault: dict[str, Figure] = Field(default={})
    corruption_errors: dict[str, float] = Field(default={})
    relative_errors: dict[str, float] = Field(default={})
    attack: AttackCurve | None = None
    no_attack: str = ""
    warnings: tuple[MaskingSign, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    examples: tuple[Example, ...] = ()
    calls: int = 0

    @property
    def mce(self) -> float | None:
        """Mean corruption error against the reference; below 1 is better than the reference."""
        return _mean(self.corruption_errors)

    @property
    def relative_mce(self) -> float | None:
        """The same of the rise over the clean error."""
        return _mean(self.relative_errors)

    def cell(self, fault: str, severity: int) -> Cell | None:
        """The cell of a fault and severity."""
        return next((one for one in self.cells if (one.fault, one.severity) == (fault, severity)), None)


class Difference(Setting):
    """Mean accuracy under faults of one classifier less that of another, on the same disturbed series."""

    better: str
    worse: str
    points: Figure

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.points.low > 0


class Conditions(Setting):
    """Under what an audit was done."""

    version: str
    created: str
    seed: int
    preset: str
    budget: dict[str, object]
    cases: int
    of: int
    """Test series that were given, of which ``cases`` were asked about."""
    channels: int
    steps: int
    unequal: bool
    classes: tuple[str, ...]
    faults: dict[str, str]
    """Faults and their groups, in the order of the table."""
    spread: str
    """Whose spread is the unit: of the training data or of the test data."""
    reference: str
    data: str
    """sha256 of the test series."""


class Audited(Setting):
    """Reports of all classifiers under the same conditions, and their differences."""

    conditions: Conditions
    reports: tuple[Report, ...]
    differences: tuple[Difference, ...] = ()

    def __getitem__(self, name: str) -> Report:
        for report in self.reports:
            if report.name == name:
                return report
        raise KeyError(f"no classifier {name!r}: there are {', '.join(one.name for one in self.reports)}")

    @property
    def judged(self) -> tuple[Report, ...]:
        """The classifiers that could be examined, without the reference, in the order in which they were given."""
        return tuple(one for one in self.reports if one.failed is None and not one.reference)

    def table(self) -> list[dict[str, Any]]:
        """One row for each classifier, fault and severity: what goes to CSV, and to ``pandas.DataFrame``."""
        return [
            {
                "classifier": report.name,
                "fault": cell.fault,
                "group": cell.group,
                "severity": cell.severity,
                "label": cell.label,
                "seen": cell.fault in report.seen,
                "accuracy": cell.accuracy.value,
                "low": cell.accuracy.low,
                "high": cell.accuracy.high,
                "balanced_accuracy": cell.balanced,
                "ece": cell.calibration,
                "brier": cell.brier,
                "unanswered": cell.unanswered,
            }
            for report in self.reports
            for cell in (*((report.clean,) if report.clean else ()), *report.cells)
        ]


def _mean(errors: dict[str, float]) -> float | None:
    return sum(errors.values()) / len(errors) if errors else None
