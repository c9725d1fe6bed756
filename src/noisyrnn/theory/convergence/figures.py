"""Measured orders, drawn. Only those who draw import this: matplotlib takes its time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure

from noisyrnn.theory.convergence.orders import Order


def order_figure(orders: Sequence[Order]) -> Figure:
    """Errors against step size, doubly logarithmic, with the fitted lines and two standard errors."""
    figure = Figure(figsize=(6.0, 4.6), layout="constrained")
    axes = figure.subplots()
    for order in orders:
        dt, errors = torch.tensor(order.dt), torch.tensor(order.errors)
        bars = [2 * bar for bar in order.error_bars]
        label = f"{order.label}: order {order.order:.2f} ± {order.standard_error:.2f}"
        drawn = axes.errorbar(order.dt, order.errors, yerr=bars, fmt="o", markersize=4, capsize=2, label=label)
        middle = errors.log().mean() + order.order * (dt.log() - dt.log().mean())
        axes.plot(order.dt, middle.exp(), color=drawn.lines[0].get_color(), linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", xlabel="step size dt", ylabel="error at the horizon")
    axes.grid(alpha=0.3, which="both", linewidth=0.5)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 2 ** len(orders))  # room for the legend above the points
    axes.legend(frameon=False, loc="upper left", fontsize="small")
    return figure
