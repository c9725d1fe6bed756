"""Figures: the curves of accuracy against the strength of a perturbation, one model each, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noisyrnn.about import About
from noisyrnn.report import labels
from noisyrnn.report.tables import Runs, deviation, mean, printed_number
from noisyrnn.rows import CLEAN, Column, Description, Regime, Row

STYLES = 7
"""Curves that one figure can keep apart by colour, marker and line style."""
# The networks of the paper keep one style on every page; places are 0 to 6.
_PLACES: dict[tuple[str, tuple[float, float] | None], int] = {
    ("noisy", (0.02, 0.05)): 0, ("noisy", (0.03, 0.06)): 0, ("lipschitz", None): 1, ("cornn", None): 2,
    ("antisymmetric", None): 3, ("exprnn", None): 4, ("noisy", (0.02, 0.02)): 5,
}  # fmt: skip
_REFERENCES = (0, 1)
"""Places of the two that all others are compared with."""


def _place(description: Description) -> int | None:
    return None if description.variant else _PLACES.get((description.kind, description.strengths))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One model's accuracy over strengths; ``printed`` are the paper's points (strength, accuracy)."""

    model: str
    name: str
    protocol: str
    style: int
    levels: tuple[float, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    printed: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The curves under one measure, against its strength; or against that of the noise in training."""

    measure: str
    curves: tuple[Curve, ...]
    level: float | None = None
    """Where curves run over the noise in training: the one strength of the measure."""

    @property
    def heading(self) -> str:
        """What the panel shows."""
        strength = "" if self.level is None else labels.strength((self.measure, self.level))
        return f"{labels.measure(self.measure)} {strength}".strip()

    @property
    def axis(self) -> str:
        """What its horizontal axis is."""
        return f"strength {labels.symbol(self.measure)}".strip() if self.level is None else "strength in training"

    @property
    def description(self) -> str:
        """The panel in words: where each curve begins and ends."""

        def end(curve: Curve, place: int) -> str:
            return f"{curve.means[place]:.1f} % at {curve.levels[place]:g}"

        return "; ".join(f"{curve.name}: {end(curve, 0)}, {end(curve, -1)}" for curve in self.curves) + "."


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Panels side by side with one legend."""

    name: str
    title: str
    panels: tuple[Panel, ...]

    @property
    def curves(self) -> tuple[Curve, ...]:
        """One curve a model, for the legend."""
        first = {(curve.model, curve.protocol): curve for panel in self.panels for curve in panel.curves}
        return tuple(first.values())


def figures(
    name: str, title: str, found: Runs, experiments: Sequence[About] = (), names: Mapping[str, str] | None = None
) -> tuple[Figure, ...]:
    """Figures of one chapter: the paper's models together, then own models beside the main two of the paper.

    Under each measure a model is drawn in one regime: the paper's if it was run so, else that with most seeds, epochs.
    """
    described = {model: description(columns) for (model, _), columns in found.items()}
    places = {model: _place(about) for model, about in described.items()}
    printed = {model for experiment in experiments if experiment.printed for model in experiment.printed.lines}
    known = sorted((model for model in printed if places.get(model) is not None), key=lambda model: places[model] or 0)
    own = sorted(described.keys() - set(known))
    references = [model for model in known if places[model] in _REFERENCES]
    groups = [(name, title, known)] if known else []
    room = STYLES - len(references)
    for start in range(0, len(own), room):
        more = f"{name}-own-{start // room + 1}" if printed else f"{name}-{start // room + 1}"
        about = f"{title}, rows of our own" if printed else title
        groups.append((more, about, references + own[start : start + room]))
    drawn = (
        Figure(name=key, title=head, panels=_panels(found, models, described, experiments, names or {}))
        for key, head, models in groups
    )
    return tuple(figure for figure in drawn if figure.panels)


def description(columns: Mapping[Column, Mapping[int, Row]]) -> Description:
    """What the rows of one model say that it is."""
    return next(row.description for seeds in columns.values() for row in seeds.values())


def _panels(
    found: Runs,
    models: Sequence[str],
    described: Mapping[str, Description],
    experiments: Sequence[About],
    names: Mapping[str, str],
) -> tuple[Panel, ...]:
    order = ("white", "uniform", "salt-pepper", "salt", "multiplicative", "fgsm", "fgsm clipped", "pgd")
    measured = {column[0] for (model, _), columns in found.items() if model in models for column in columns} - {"clean"}
    panels = []
    wanted = {model: _place(described[model]) for model in models if model in described}
    # Of two that would have one place, the first has it.
    fixed = {place: model for model, place in reversed(wanted.items()) if place is not None}
    free = [style for style in range(STYLES) if style not in fixed]
    styles = {
        model: place if place is not None and fixed[place] == model else free.pop(0) for model, place in wanted.items()
    }
    for measure in sorted(measured, key=lambda name: (order.index(name) if name in order else len(order), name)):
        regimes = _regimes(found, measure)
        curves = [
            _curve(found, model, regimes[model], measure, styles[model], experiments, names)
            for model in models
            if model in regimes
        ]
        drawn = tuple(curve for curve in curves if len(curve.levels) > 1)
        if drawn:
            panels.append(Panel(measure=measure, curves=drawn))
    return tuple(panels)


def _regimes(found: Runs, measure: str) -> dict[str, Regime]:
    """The regime in which each model is drawn under a measure."""
    weights = {}
    for (model, regime), columns in found.items():
        measured = [list(rows.values()) for column, rows in columns.items() if column[0] == measure]
        if measured:
            seeds, epochs = max(map(len, measured)), max(row.epochs for rows in measured for row in rows)
            weights[model, regime] = (regime.paper, seeds, epochs, regime)
    # The last of a model stays.
    return dict(sorted(weights, key=lambda who: weights[who]))


def _curve(
    found: Runs,
    model: str,
    regime: Regime,
    measure: str,
    style: int,
    experiments: Sequence[About],
    names: Mapping[str, str],
) -> Curve:
    measured = found[model, regime]
    points = {level: list(seeds.values()) for (name, level), seeds in measured.items() if name == measure}
    if points and CLEAN in measured:
        points.setdefault(0.0, list(measured[CLEAN].values()))
    levels = sorted(points)
    values = [[row.value for row in points[level]] for level in levels]
    printed = [(level, printed_number(experiments, model, (measure, level) if level else CLEAN)) for level in levels]
    return Curve(
        model=model,
        name=names.get(model) or labels.model(description(measured)),
        protocol=regime.label(max((len(value) for value in values), default=0)),
        style=style,
        levels=tuple(levels),
        means=tuple(mean(value) for value in values),
        deviations=tuple(deviation(value) or 0.0 for value in values),
        printed=tuple((level, number) for level, number in printed if number is not None),
    )
