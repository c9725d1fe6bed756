"""The ablation's figures: accuracy against the noise of training, one curve a kind of noise."""

from __future__ import annotations

from noisyrnn.report.figures import Curve, Figure, Panel, description
from noisyrnn.report.tables import Runs, deviation, mean
from noisyrnn.rows import CLEAN, Regime

_KINDS = ("only additive noise", "only multiplicative noise", "both, equally strong")


def ablation_figures(name: str, title: str, found: Runs) -> tuple[Figure, ...]:
    """One figure where rows vary both noises: clean inputs, and each disturbance at its strongest.

    Empty unless each kind of noise (additive alone, multiplicative alone, both) was trained at two strengths or more.
    """
    grid: dict[str, dict[float, tuple[str, Regime]]] = {kind: {} for kind in _KINDS}
    for model, regime in found:
        about = description(found[model, regime])
        if about.strengths and not about.variant:
            multiplicative, additive = about.strengths
            fits = (multiplicative == 0, additive == 0, additive == multiplicative)
            for kind, fit in zip(_KINDS, fits, strict=True):
                if fit:
                    grid[kind][max(additive, multiplicative)] = (model, regime)
    if any(len([strength for strength in runs if strength]) < 2 for runs in grid.values()):
        return ()
    measured = {column for columns in found.values() for column in columns} - {CLEAN}
    hardest = {measure: max(level for other, level in measured if other == measure) for measure, _ in measured}
    columns = [CLEAN, *sorted(hardest.items(), reverse=True)]
    panels = []
    for column in columns:
        curves = []
        for style, (kind, runs) in enumerate(grid.items()):
            values = {
                strength: [row.value for row in found[who].get(column, {}).values()]
                for strength, who in sorted(runs.items())
            }
            seeds = max(map(len, values.values()))
            values = {strength: seen for strength, seen in values.items() if seen}
            curves.append(
                Curve(
                    model=kind,
                    name=kind,
                    protocol=next(iter(runs.values()))[1].label(seeds),
                    style=style,
                    levels=tuple(values),
                    means=tuple(mean(seen) for seen in values.values()),
                    deviations=tuple(deviation(seen) or 0.0 for seen in values.values()),
                )
            )
        panels.append(Panel(measure=column[0], level=column[1], curves=tuple(curves)))
    return (Figure(name=name, title=title, panels=tuple(panels)),)
