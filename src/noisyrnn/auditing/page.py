"""An audit as one HTML page: styles and drawings inside, nothing from the network, no scripts."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from noisyrnn.auditing.budget import HEADLINE
from noisyrnn.auditing.drawing import Line, chart, pair, swatch
from noisyrnn.auditing.findings import Audited, Example, Report
from noisyrnn.auditing.words import advice, interval, verdict

_NONE = "\u2013"
_HERE = Path(__file__).parent


def page(audit: Audited) -> str:
    """The page; every name in it is escaped."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    about, judged = audit.conditions, audit.judged
    shown = [one for one in audit.reports if one.failed is None]
    styles = {one.name: place for place, one in enumerate(shown)}
    attacks = [one for one in judged if one.attack is not None]
    labels = _labels(shown)
    used = max((len(one.corruption_errors) for one in shown), default=0)
    return environment.get_template("page.html.j2").render(
        audit=audit,
        about=about,
        judged=judged,
        shown=shown,
        names=", ".join(one.name for one in judged) or "no classifier",
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        style_of=styles,
        verdict=verdict(audit),
        pc=lambda value: f"{100 * value:.1f}",
        interval=interval,
        attacked=_attacked,
        labels=labels,
        grouped=[
            (group, list(faults)) for group, faults in groupby(about.faults, key=lambda fault: about.faults[fault])
        ],
        row=lambda one, fault: [_share(one, fault, k) for k in range(1, len(labels) + 1)],
        seen=[one for one in shown if one.seen],
        swatch=swatch,
        fault_chart=lambda fault: _fault_chart(fault, shown, styles, labels),
        attacks=attacks,
        attack_chart=_attack_chart(attacks, styles) if attacks else "",
        certified=[(one, found) for one in judged for found in one.certificates],
        calibrated=[one for one in judged if one.clean and one.clean.calibration is not None],
        calibration=_calibration,
        example_chart=_example_chart,
        advice=lambda one: advice(one, about.faults),
        best_used=used,
    )


def _labels(shown: list[Report]) -> list[str]:
    """What severities are called: those of the fault with most of them."""
    found: dict[int, str] = {cell.severity: cell.label for one in shown for cell in one.cells}
    return [found[severity] for severity in sorted(found)]


def _share(report: Report, fault: str, severity: int) -> float | None:
    cell = report.cell(fault, severity)
    return None if cell is None else cell.accuracy.value


def _attacked(report: Report) -> str:
    if report.attack is None:
        return _NONE
    found = dict(zip(report.attack.radii, report.attack.accuracy, strict=True)).get(HEADLINE)
    return _NONE if found is None else f"{100 * found.value:.1f}"


def _fault_chart(fault: str, shown: list[Report], styles: dict[str, int], labels: list[str]) -> Markup:
    lines = []
    for one in shown:
        cells = ([one.clean] if one.clean else []) + [cell for cell in one.cells if cell.fault == fault]
        points = [(float(cell.severity), cell.accuracy.value) for cell in cells]
        band = [(cell.accuracy.low, cell.accuracy.high) for cell in cells]
        if points:
            lines.append(Line(one.name, styles[one.name], points, band))
    ticks = [(0.0, "clean"), *((float(k), label.removesuffix(" dB")) for k, label in enumerate(labels, 1))]
    return chart(f"Accuracy under {fault}", lines, ticks)


def _attack_chart(attacks: list[Report], styles: dict[str, int]) -> Markup:
    lines = []
    for one in attacks:
        if one.attack is None:
            continue
        points = [(0.0, one.attack.clean)]
        points += [(radius, found.value) for radius, found in zip(one.attack.radii, one.attack.accuracy, strict=True)]
        band = [(one.attack.clean, one.attack.clean), *((found.low, found.high) for found in one.attack.accuracy)]
        lines.append(Line(one.name, styles[one.name], points, band))
    radii = attacks[0].attack.radii if attacks[0].attack else ()
    far = [radius for place, radius in enumerate(radii) if radius >= 0.1 or place == len(radii) - 1]
    return chart(
        "Accuracy under attack",
        lines,
        [(0.0, "0"), *((radius, f"{radius:g}") for radius in far)],
        width=360,
        height=200,
    )


def _example_chart(report: Report, example: Example) -> Markup:
    return pair(f"{report.name} under {example.fault}, series {example.case}", example.clean, example.disturbed)


def _calibration(report: Report) -> dict[str, Any]:
    errors = [cell.calibration for cell in report.cells if cell.calibration is not None]
    squares = [cell.brier for cell in report.cells if cell.brier is not None]

    def said(values: list[float], how: Any) -> str:
        return f"{how(values):.3f}" if values else _NONE

    return {
        "ece": said(errors, lambda v: sum(v) / len(v)),
        "worst": said(errors, max),
        "brier": said(squares, lambda v: sum(v) / len(v)),
    }
