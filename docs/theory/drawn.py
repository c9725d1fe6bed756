"""The figures of README.md, by their names."""

from __future__ import annotations

from collections.abc import Callable

from computed import antisymmetric, chaotic, orders, provable, share_of_Q, tightness
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noisyrnn.theory import demonstrations
from noisyrnn.theory.convergence import order_figure


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
    "stabilised": lambda: demonstrations.exponent_figure(provable()),
    "destabilised": lambda: demonstrations.exponent_figure(antisymmetric()),
    "chaotic": lambda: demonstrations.comparison_figure(chaotic(), title="Chaotic network under three kinds of noise"),
    "orders": lambda: order_figure(orders()),
}
