"""From a classifier's answers to its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn.auditing.answers import NOTHING, Answers
from noisyrnn.auditing.budget import Budget
from noisyrnn.auditing.cells import CLEAN, Kept, Place, Question, Sheet
from noisyrnn.auditing.certified import SELECT, certificates
from noisyrnn.auditing.findings import (
    AttackCurve,
    Attacked,
    Cell,
    Certificate,
    Certificates,
    Example,
    Figure,
    MaskingSign,
    Report,
)
from noisyrnn.auditing.reference import NAME
from noisyrnn.auditing.scores import (
    Resamples,
    balanced_accuracy,
    brier,
    calibration_error,
    correct,
    corruption_errors,
)
from noisyrnn.auditing.worst_cases import attack_curve
from noisyrnn.randomness import stream
from noisyrnn.setting import canonical

_EXAMPLES = 3


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """Errors of the reference, clean and by fault and severity."""

    clean: float
    errors: dict[Place, float]

    def by_fault(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for (fault, _), error in sorted(self.errors.items()):
            found.setdefault(fault, []).append(error)
        return found


def report_of(
    sheet: Sheet,
    question: Question,
    budget: Budget,
    resamples: Resamples,
    *,
    yardstick: Yardstick | None,
    told: Callable[[str, int], None],
    patience: float,
    kept: Kept,
) -> Report:
    """All scores of one classifier; attacks and certificates are made here."""
    one, y = sheet.one, question.y
    right = {place: correct(found, y) for place, found in sheet.cells.items()}
    means: dict[str, NDArray[np.float64]] = {}
    for name, graded in question.table.items():
        own = [right[name, k] for k in range(1, len(graded.faults) + 1) if (name, k) in right]
        if len(own) == len(graded.faults):
            means[name] = np.mean(own, axis=0)
    by_fault = {name: _figure(values, resamples) for name, values in means.items()}
    worst = min(by_fault, key=lambda name: by_fault[name].value, default="")
    unseen = [values for name, values in means.items() if name not in one.seen]
    errors = {name: [1 - float(right[name, k].mean()) for k in range(1, len(question.table[name].faults) + 1)]
              for name in means}  # fmt: skip
    clean = 1 - float(correct(sheet.clean, y).mean())
    reference = yardstick.by_fault() if yardstick else {}
    attack, no_attack, signs, certified = _worst_cases(sheet, question, budget, told, patience, kept)
    return Report(
        name=one.name,
        kind=one.asked.kind,
        form=one.form.value,
        fingerprint=sheet.who,
        seen=tuple(name for name in one.seen if name in question.table),
        complaints=tuple(one.complaints),
        reference=one.name == NAME,
        clean=_cell(CLEAN, sheet.clean, question, resamples),
        cells=tuple(_cell(place, found, question, resamples) for place, found in sheet.cells.items()),
        mean=_figure(np.mean(list(means.values()), axis=0), resamples) if means else None,
        unseen_mean=_figure(np.mean(unseen, axis=0), resamples) if unseen and len(unseen) < len(means) else None,
        worst=by_fault.get(worst),
        worst_fault=worst,
        by_fault=by_fault,
        corruption_errors=corruption_errors(errors, reference),
        relative_errors=corruption_errors(
            errors, reference, clean=clean, reference_clean=yardstick.clean if yardstick else 0.0
        ),
        attack=attack,
        no_attack=no_attack,
        warnings=signs,
        certificates=certified,
        examples=() if one.name == NAME else _examples(sheet, question),
        calls=len(y) * (1 + len(sheet.cells)),
    )


def _worst_cases(
    sheet: Sheet, question: Question, budget: Budget, told: Callable[[str, int], None], patience: float, kept: Kept
) -> tuple[AttackCurve | None, str, tuple[MaskingSign, ...], tuple[Certificate, ...]]:
    one, spent = sheet.one, canonical(budget)
    if one.name == NAME:
        return None, "the reference is not attacked", (), ()
    if sheet.stopped or sheet.seconds > patience:
        return None, "it was too slow", (), ()
    order = torch.randperm(len(question.series), generator=stream("audit", "samples", question.seed)).numpy()
    attacked, reason = Attacked(), "no samples were to be attacked"
    chosen = np.sort(order[: budget.attacked])
    if len(chosen):
        part, y = question.series.part(chosen), question.y[chosen]
        try:
            attacked = kept.finding(
                sheet.who, f"attack|{spent}", Attacked,
                lambda: attack_curve(one, part, y, question.spread, budget, question.seed),
            )  # fmt: skip
            reason = ""
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            if one.asked.probabilities:
                one.complain(f"could not be attacked: {reason}")
        told(one.name, budget.calls(0, 0) - budget.smoothed * (SELECT + budget.draws))
    certified = Certificates()
    chosen = np.sort(order[: budget.smoothed])
    if len(chosen):
        series, classes = question.series.part(chosen), question.y[chosen]
        try:
            certified = kept.finding(
                sheet.who, f"certificates|{spent}", Certificates,
                lambda: certificates(one, series, classes, question.spread, budget, question.seed),
            )  # fmt: skip
        except Exception as error:
            one.complain(f"could not be certified: {' '.join(str(error).split())[:300]}")
        told(one.name, budget.smoothed * (SELECT + budget.draws))
    return attacked.curve, reason, attacked.signs, certified.found


def _figure(values: NDArray[np.floating], resamples: Resamples) -> Figure:
    low, high = resamples.interval(values)
    return Figure(value=float(np.mean(values)), low=low, high=high)


def _cell(place: Place, answers: Answers, question: Question, resamples: Resamples) -> Cell:
    fault, severity = place
    graded = question.table.get(fault)
    return Cell(
        fault=fault,
        group=graded.group.value if graded else "",
        severity=severity,
        label=graded.labels[severity - 1] if graded else "",
        accuracy=_figure(correct(answers, question.y).astype(np.float64), resamples),
        balanced=balanced_accuracy(answers, question.y),
        calibration=calibration_error(answers, question.y),
        brier=brier(answers),
        unanswered=int((answers.label == NOTHING).sum()),
    )


def _examples(sheet: Sheet, question: Question) -> tuple[Example, ...]:
    """Of the faults that break most at the mildest severity, one series each that was right before."""
    right = correct(sheet.clean, question.y)
    broken: list[tuple[int, int, str]] = []
    for name, graded in question.table.items():
        for severity in range(1, len(graded.faults) + 1):
            found = sheet.cells.get((name, severity))
            lost = 0 if found is None else int((right & ~correct(found, question.y)).sum())
            if lost:
                broken.append((severity, -lost, name))
                break
    names = question.series
    told = []
    for severity, _, name in sorted(broken)[:_EXAMPLES]:
        found = sheet.cells[name, severity]
        case = int((right & ~correct(found, question.y)).argmax())
        disturbed = question.disturbed((name, severity))
        end = names.x.shape[1] if names.lengths is None else int(names.lengths[case])
        before, after = names.x[case, :end], disturbed.x[case, :end]
        channel = int((after - before).abs().div(question.spread.unit.to(after.dtype)).sum(0).argmax())
        told.append(
            Example(
                case=case,
                fault=name,
                severity=severity,
                truth=sheet.one.classes[int(question.y[case])],
                before=_class(sheet, int(sheet.clean.label[case])),
                after=_class(sheet, int(found.label[case])),
                clean=_thinned(before[:, channel]),
                disturbed=_thinned(after[:, channel]),
                channel=channel,
            )
        )
    return tuple(told)


def _class(sheet: Sheet, label: int) -> str:
    return "no answer" if label == NOTHING else sheet.one.classes[label]


def _thinned(values: torch.Tensor, most: int = 300) -> tuple[float, ...]:
    """At most so many points, and as many digits as a drawing shows."""
    step = -(-len(values) // most)
    return tuple(float(f"{value:.4g}") for value in values[::step].tolist())
