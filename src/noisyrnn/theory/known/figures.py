"""Demonstrations, drawn. Only those who draw import this: matplotlib takes its time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from noisyrnn.theory.known.demonstrations import Demonstration


def exponent_figure(demonstration: Demonstration) -> Figure:
    """Interval, printed upper bound, estimates with three standard errors, and the truth, against noise strength.

    Where the interval is far wider than what happens inside it, the frame follows the estimates.
    """
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    s, found = demonstration.strengths, demonstration.estimates
    axes.fill_between(
        s, demonstration.lower, demonstration.upper, alpha=0.15, color="tab:blue", label="interval (corrected theorem)"
    )
    axes.plot(s, demonstration.printed_upper, "--", color="tab:red", linewidth=1.2, label="upper bound as printed")
    if demonstration.truth is not None:
        axes.plot(s, demonstration.truth, color="black", linewidth=1.2, label="exact")
    axes.errorbar(
        s, found, yerr=3 * demonstration.errors, fmt="o", markersize=4, capsize=3, color="tab:blue",
        label="estimate, ± 3 standard errors",
    )  # fmt: skip
    span = float(found.max() - found.min()) + 6 * float(demonstration.errors.max())
    if float((demonstration.upper - demonstration.lower).min()) > 8 * span:
        axes.set_ylim(float(found.min()) - span, float(found.max()) + span)
        axes.set_title("interval and printed bound lie beyond the frame", fontsize="small", loc="right")
    _finish(figure, demonstration.title)
    return figure


def comparison_figure(demonstrations: Sequence[Demonstration], *, title: str) -> Figure:
    """Estimates of several demonstrations in one frame, such as one system under three kinds of noise."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for demonstration in demonstrations:
        axes.errorbar(
            demonstration.strengths, demonstration.estimates, yerr=3 * demonstration.errors, fmt="o-", markersize=4,
            linewidth=1, capsize=3, label=demonstration.title,
        )  # fmt: skip
    _finish(figure, title)
    return figure


def _finish(figure: Figure, title: str) -> None:
    (axes,) = figure.axes
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(xlabel="noise strength s", ylabel="top Lyapunov exponent")
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    figure.suptitle(title)
