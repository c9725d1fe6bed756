"""An audit in words: the verdict, five lines for a terminal, and what to do, all of it from the numbers."""

from __future__ import annotations

from collections.abc import Iterable

from noisyrnn.auditing.budget import HEADLINE
from noisyrnn.auditing.findings import Audited, Figure, Report

_BIG = 0.1
"""A loss of accuracy that is worth a word."""


def percent(value: float | Figure | None) -> str:
    """A share for a reader.

    >>> percent(0.8736), percent(None)
    ('87.4 %', 'not measured')
    """
    if isinstance(value, Figure):
        value = value.value
    return "not measured" if value is None else f"{100 * value:.1f} %"


def interval(figure: Figure | None) -> str:
    """The interval of a figure, in brackets."""
    return "" if figure is None else f"[{100 * figure.low:.1f}, {100 * figure.high:.1f}]"


def ranked(reports: Iterable[Report]) -> list[Report]:
    """Those with a mean under faults, the best first."""
    return sorted((one for one in reports if one.mean), key=lambda one: -(one.mean.value if one.mean else 0.0))


def verdict(audit: Audited) -> str:
    """What happened, in one or two sentences."""
    order = ranked(audit.judged)
    faults = len(audit.conditions.faults)
    if not order:
        return "None of the classifiers could be examined under all faults; the reasons are below."
    best = order[0]
    clean = best.clean.accuracy.value if best.clean else None
    fate = (
        f"{percent(clean)} right on clean series, {percent(best.mean)} on average under "
        f"{faults} sensor fault{'s' if faults > 1 else ''}, {percent(best.worst)} under the worst "
        f"of them, {best.worst_fault}"
    )
    if len(order) == 1:
        return f"{best.name}: {fate}."
    second = order[1]
    gap = next(one for one in audit.differences if {one.better, one.worse} == {best.name, second.name})
    sure = "clearly ahead of" if gap.clear else "not clearly ahead of"
    return (
        f"{best.name} keeps most: {fate}. It is {sure} {second.name} "
        f"({100 * gap.points.value:+.1f} points {interval(gap.points)})."
    )


def summary(audit: Audited) -> str:
    """Five lines: the classifiers beside each other; more than four are cut to the best."""
    order = ranked(audit.judged)
    rest = [one for one in audit.reports if not one.reference and one not in order]
    width = max([len(one.name) for one in audit.reports] + [10])
    lines = [f"{'':<{width}}  {'clean':>7}  {'faults':>7}  {'worst fault':<24}  {'mCE':>5}  {'attack 0.1':>10}"]
    for one in order[:4]:
        clean = one.clean.accuracy.value if one.clean else None
        mce = "" if one.mce is None else f"{one.mce:.2f}"
        worst = f"{percent(one.worst)} {one.worst_fault}"
        lines.append(
            f"{one.name:<{width}}  {percent(clean):>7}  {percent(one.mean):>7}  {worst:<24}  "
            f"{mce:>5}  {_attacked(one):>10}"
        )
    lines += [f"{one.name:<{width}}  {one.failed or 'not examined under all faults'}" for one in rest]
    if len(order) > 4:
        lines.append(f"and {len(order) - 4} more, on the page")
    return "\n".join(lines[:5] if len(order) <= 4 else [*lines[:4], lines[-1]])


def _attacked(report: Report) -> str:
    if report.attack is None:
        return "none"
    found = _headline(report)
    return percent(found.value) if found else ""


def _headline(report: Report) -> Figure | None:
    """Accuracy under attack at the radius that is quoted first."""
    if report.attack is None:
        return None
    return dict(zip(report.attack.radii, report.attack.accuracy, strict=True)).get(HEADLINE)


def advice(report: Report, groups: dict[str, str]) -> list[str]:
    """What to do about it: a sentence for each weakness that the numbers show, the largest first."""
    if report.clean is None or not report.by_fault:
        return []
    clean = report.clean.accuracy.value
    lost = {name: clean - figure.value for name, figure in report.by_fault.items()}
    said: list[tuple[float, str]] = []
    for group, remedy in _REMEDIES.items():
        own = {name: drop for name, drop in lost.items() if groups.get(name) == group}
        hit = sorted((name for name, drop in own.items() if drop > _BIG), key=lambda name: -own[name])
        if hit:
            cost = f"cost{'s' if len(hit) == 1 else ''} up to {100 * own[hit[0]]:.0f} points"
            said.append((own[hit[0]], f"{_list(hit)} {cost}: {remedy}"))
    level = max(lost.get("bias", 0.0), lost.get("gain", 0.0))
    if level > _BIG and lost.get("noise", 0.0) < level / 2:
        said.append((level, _LEVEL))
    worst = max((cell.calibration or 0.0 for cell in report.cells), default=0.0)
    if report.clean.calibration is not None and worst > report.clean.calibration + _BIG:
        before = f"{100 * report.clean.calibration:.0f} on clean series"
        text = f"Its probabilities are off by {100 * worst:.0f} points where faults are heavy ({before})"
        said.append((worst / 2, f"{text}: do not act on its confidence alone."))
    at = _headline(report)
    if report.attack is not None and at is not None and report.attack.clean - at.value > _BIG:
        text = f"A disturbance of a tenth of the spread, chosen against it, leaves {percent(at.value)}"
        said.append(
            (report.attack.clean - at.value, f"{text}: train with noise on the inputs or with attacked series.")
        )
    if report.unseen_mean is not None:
        others = f"over the other faults its mean is {percent(report.unseen_mean.value)}"
        said.append((0.0, f"It has seen {_list(list(report.seen))} in training; {others}, the figure to compare by."))
    if not said:
        return ["No fault of this table costs it more than 10 points on average: look at the heaviest severities."]
    return [text for _, text in sorted(said, key=lambda one: -one[0])]


_REMEDIES = {
    "value": "train with noise on the inputs, and with disturbed copies of the training series.",
    "availability": "train on series with gaps and held stretches, and look out for readings that do not come.",
    "timing": "train on shifted and stretched copies, or align series before they are classified.",
}
_LEVEL = (
    "It depends on the level or size of the signal more than on its shape: check the calibration of the sensors, or "
    "scale each series by itself if its size carries no class."
)


def _list(names: list[str]) -> str:
    """A, b and c.

    >>> _list(["stuck", "gap"]), _list(["a", "b", "c", "d", "e"])
    ('Stuck and gap', 'A, b, c and 2 more')
    """
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return text[:1].upper() + text[1:]
