"""``noisyrnn theory explanation``: do the quantities of the theorems go with measured robustness?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyrnn.cli.theory.answer import Answer, Value, check_format
from noisyrnn.cli.theory.options import Json, Out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from noisyrnn.experiments.theory_summary import Explained

_QUANTITIES = {
    "per_step_R": "R, noise ξ in every step (Theorem 1)",
    "exponent": "Lyapunov exponent per step (Theorem 3)",
    "certified": "certified l2 radius, median (Theorem 2)",
    "attacked": "attacked l2 radius, median",
}
_FEW = 4  # A rank correlation of fewer points says nothing.


def explanation(
    directory: Annotated[Path, typer.Argument(help="A record, or where experiments were run, with its networks.")],
    experiments: Annotated[
        list[str] | None, typer.Option("--experiment", help="Whose rows say how robust a network is; table-3 if none.")
    ] = None,
    count: Annotated[int, typer.Option("--samples", min=1, max=100_000, help="Test samples for each network.")] = 100,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """R, Lyapunov exponent, certified and attacked radius of every trained network beside its measured accuracy.

    What is computed is kept beside each network; an interrupted command goes on where it was.

    Example: noisyrnn theory explanation results --experiment table-3 --experiment rivals --out explanation.svg
    """
    check_format(out)
    from rich.console import Console
    from rich.progress import track

    from noisyrnn.experiments.theory_summary import explain, networks_with_rows

    wanted = experiments or ["table-3"]
    name = " and ".join(wanted)
    networks = networks_with_rows(directory, wanted)
    shown = track(networks, "networks", console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
    found = sorted(
        (one for network in shown if (one := explain(network, samples=count))),
        key=lambda one: -one.robust,
    )
    if not found:
        raise ValueError(f"The rows of {name} do not have both clean and disturbed accuracies; name another one.")
    rows: list[dict[str, Value]] = [
        {
            "network": one.model, "seed": one.seed, "epochs": one.epochs, "clean, %": one.clean,
            "disturbed, %": one.robust,
            **{quantity: getattr(one.summary, quantity) for quantity in _QUANTITIES},
        }
        for one in found
    ]  # fmt: skip
    facts: dict[str, Value] = {"networks": len(found), "samples": count}
    for quantity in _QUANTITIES:
        facts[f"rank correlation of {quantity} with disturbed accuracy"] = _correlation(found, quantity)
    remarks = [
        f"Disturbed is the mean accuracy over the disturbed columns of {name}; the correlation is Spearman's "
        "over these few networks, a description and no test.",
        "R, exponent and certified radius are about single layers of an SDE cell; a dash stands for other networks.",
    ]
    Answer(
        title=f"What goes with robustness in {name}", facts=facts, rows=rows, remarks=remarks,
        figure=lambda: _figure(found, name),
    ).give(out=out, as_json=as_json)  # fmt: skip


def _points(found: list[Explained], name: str) -> list[tuple[Explained, float]]:
    values = ((one, getattr(one.summary, name)) for one in found)
    return [(one, value) for one, value in values if value is not None]


def _correlation(found: list[Explained], name: str) -> float | None:
    from scipy.stats import spearmanr

    points = _points(found, name)
    if len(points) < _FEW:
        return None
    return float(spearmanr([value for _, value in points], [one.robust for one, _ in points]).statistic)


def _scale(values: list[float]) -> str:
    """Logarithmic for values of very different size, so that the small ones do not fall onto each other.

    >>> _scale([0.5, 3.0, 80.0]), _scale([0.5, 3.0, 20.0]), _scale([-1.0, 80.0]), _scale([])
    ('log', 'linear', 'linear', 'linear')
    """
    return "log" if values and min(values) > 0 and max(values) > 100 * min(values) else "linear"


def _figure(found: list[Explained], experiment: str) -> Figure:
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from noisyrnn.report import labels

    kinds = sorted({(labels.model(one.description), one.epochs) for one in found})
    several = len({epochs for _, epochs in kinds}) > 1
    colours, markers = colormaps["tab20"], "osD^vP*Xh<>"
    look = {kind: (colours(i % colours.N), markers[i % len(markers)]) for i, kind in enumerate(kinds)}
    figure = Figure(figsize=(9.6, 7.4 + 0.22 * ((len(kinds) + 2) // 3)), layout="constrained")
    for axes, (name, label) in zip(figure.subplots(2, 2, sharey=True).flat, _QUANTITIES.items(), strict=True):
        for one, value in _points(found, name):
            colour, marker = look[labels.model(one.description), one.epochs]
            axes.plot(value, one.robust, marker, color=colour, markersize=8, markeredgecolor="black", linestyle="none")
        axes.set_xscale(_scale([value for _, value in _points(found, name)]))
        correlation = _correlation(found, name)
        axes.set(xlabel=label, title="" if correlation is None else f"rank correlation {correlation:+.2f}")
        axes.title.set_fontsize("medium")
        axes.grid(alpha=0.3, linewidth=0.5)
    figure.supylabel(f"mean accuracy under disturbances, %, {experiment}", fontsize="medium")
    marks = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markeredgecolor="black",
               label=f"{name}, {epochs} epochs" if several else name)
        for (name, epochs), (colour, marker) in look.items()
    ]  # fmt: skip
    figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure
