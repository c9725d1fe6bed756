"""Make the page on theory: its numbers from values.py into docs/templates/theory.md.j2, and its figures.

python docs/theory/make.py            write the page and the figures
python docs/theory/make.py --check    fail if the page is stale; write nothing
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from values import antisymmetric, chaotic, orders, provable, share_of_Q, tightness, values

from noisyrnn.cli.theory.answer import draw
from noisyrnn.theory.convergence.figures import order_figure
from noisyrnn.theory.known.figures import comparison_figure, exponent_figure

sys.path.append(str(Path(__file__).parents[1]))
from render import render

HERE = Path(__file__).parent


def share_figure() -> Figure:
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    steps = [30, 60, 120, 240, 480]
    axes.plot(steps, [share_of_Q(count) for count in steps], "o-", markersize=4)
    axes.axhline(0, color="tab:red", linestyle="--", linewidth=1.2, label="limit, if |Q| ≤ C dt² and |R| ≤ C dt held")
    axes.set(xscale="log", xlabel="steps on the interval [0, 3]", ylabel="Q / R", xticks=steps, ylim=(-0.9, 0.1))
    axes.set_xticklabels(map(str, steps))
    axes.minorticks_off()
    return _explained(figure, axes)


def tightness_figure() -> Figure:
    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for (name, (radii, attacked)), marker in zip(tightness().items(), "^so", strict=True):
        axes.loglog(attacked, radii, marker, markersize=3, alpha=0.7, label=name)
    ends = [float(attacked.min()) / 1.5, float(attacked.max()) * 1.5]
    axes.plot(ends, ends, color="black", linewidth=1, label="no certificate may lie above")
    axes.set(xlabel="radius of the nearest wrong answer found", ylabel="certified radius")
    return _explained(figure, axes)


def _explained(figure: Figure, axes: Axes) -> Figure:
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "share": share_figure,
    "tightness": tightness_figure,
    "stabilised": lambda: exponent_figure(provable()),
    "destabilised": lambda: exponent_figure(antisymmetric()),
    "chaotic": lambda: comparison_figure(chaotic(), title="Chaotic network under three kinds of noise"),
    "orders": lambda: order_figure(orders()),
}


def main() -> None:
    check = "--check" in sys.argv[1:]
    render("theory.md.j2", HERE / "README.md", values(), check=check)
    if not check:
        for name, figure in FIGURES.items():
            draw(figure(), HERE / f"{name}.svg")


if __name__ == "__main__":
    main()
