"""Claims of the paper, decided by rows: the paired difference of two models over seeds and its 95 % interval.

Two runs with the same seed see the same test data under the same perturbation draws, so their difference d_i is paired:
mean(d) ± t(n - 1, 0.975) s(d) / sqrt(n). A claim holds when the whole interval lies above the claimed margin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt

from scipy.special import stdtrit

from noisyrnn.about import About, Claim
from noisyrnn.report import labels
from noisyrnn.report.tables import Runs, deviation, mean, printed_number
from noisyrnn.rows import Row

CONFIDENCE = 0.95


class Verdict(StrEnum):
    """What the rows say about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


_SEVERAL = {Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim, its verdict, and the numbers behind it; low and high bound the mean difference."""

    claim: Claim
    sentence: str
    verdict: Verdict
    seeds: int = 0
    protocol: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    paper: float | None = None

    @property
    def leans(self) -> bool:
        """Undecided, but with a difference on the claim's side."""
        return self.verdict is Verdict.UNDECIDED and (self.difference or 0.0) > self.claim.margin


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of paired differences; at least two are needed.

    >>> low, high = interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    spread = deviation(differences)
    if spread is None:
        raise ValueError(f"An interval needs at least 2 paired differences, got {len(differences)}.")
    count = len(differences)
    half = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2)) * spread / sqrt(count)
    return mean(differences) - half, mean(differences) + half


def verdict(low: float, high: float, margin: float) -> Verdict:
    """Holds above the margin, does not hold at or below it, undecided across it.

    >>> [str(verdict(low, high, 0.0)) for low, high in ((0.1, 0.3), (-0.3, -0.1), (-0.1, 0.1), (0.0, 0.0))]
    ['holds', 'does not hold', 'undecided', 'does not hold']
    """
    if low > margin:
        return Verdict.HOLDS
    return Verdict.FAILS if high <= margin else Verdict.UNDECIDED


def finding(claim: Claim, found: Runs, experiments: Sequence[About], names: dict[str, str]) -> Finding:
    """The claim decided by the protocol with most paired seeds, which is named; of equals the paper's, the longest."""
    known = Finding(
        claim=claim,
        sentence=labels.claim(claim, names),
        verdict=Verdict.NOT_RUN,
        paper=_printed_difference(claim, experiments),
    )
    choices = []
    for model, regime in found:
        if model == claim.better and (claim.worse, regime) in found:
            better = found[model, regime].get(claim.column, {})
            pairs = _pairs(better, found[claim.worse, regime].get(claim.column, {}))
            if pairs:
                epochs = max(row.epochs for row in better.values())
                choices.append((len(pairs), regime.paper, epochs, regime, pairs))
    if not choices:
        return known
    *_, regime, differences = max(choices)
    low, high = interval(differences) if len(differences) > 1 else (None, None)
    return replace(
        known,
        verdict=Verdict.UNDECIDED if low is None or high is None else verdict(low, high, claim.margin),
        seeds=len(differences),
        protocol=regime.label(len(differences)),
        difference=mean(differences),
        low=low,
        high=high,
    )


def tally(findings: Iterable[Finding]) -> str:
    """Verdicts counted in words, such as "4 hold, 1 does not hold, 3 undecided (2 point the paper's way)"."""
    findings = list(findings)
    counts = Counter(found.verdict for found in findings)
    words = {verdict: f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]}
    words |= {verdict: f"{counts[verdict]} {several}" for verdict, several in _SEVERAL.items() if counts[verdict] > 1}
    if leaning := sum(found.leans for found in findings):
        whose = "paper's" if all(found.claim.source for found in findings) else "claim's"
        words[Verdict.UNDECIDED] += f" ({leaning} {'points' if leaning == 1 else 'point'} the {whose} way)"
    return ", ".join(words.values())


def _pairs(better: dict[int, Row], worse: dict[int, Row]) -> list[float]:
    # Another number of test samples means another test set: such runs are no pair.
    seeds = [seed for seed in sorted(better) if seed in worse and better[seed].samples == worse[seed].samples]
    return [better[seed].value - worse[seed].value for seed in seeds]


def _printed_difference(claim: Claim, experiments: Sequence[About]) -> float | None:
    better, worse = (printed_number(experiments, model, claim.column) for model in (claim.better, claim.worse))
    return None if better is None or worse is None else round(better - worse, 6)
