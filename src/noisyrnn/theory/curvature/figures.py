"""Spectral densities and loss landscapes, drawn. Only those who draw import this: matplotlib takes its time."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from matplotlib.figure import Figure, FigureBase

from noisyrnn.theory.curvature.density import Density
from noisyrnn.theory.curvature.loss_landscape import Landscape


def density_figure(
    densities: Mapping[str, Density], *, width: float | None = None, inside: FigureBase | None = None
) -> FigureBase:
    """Smoothed spectral densities on a logarithmic scale, one curve per name; drawn ``inside`` a part of a figure."""
    figure = Figure(figsize=(6.0, 4.0), layout="constrained") if inside is None else inside
    axes = figure.subplots()
    low = min(float(density.nodes.min()) for density in densities.values())
    high = max(float(density.nodes.max()) for density in densities.values())
    # One width for all, or the curves could not be compared.
    width = max(density.width for density in densities.values()) if width is None else width
    t = torch.linspace(low - 5 * width, high + 5 * width, 1000, dtype=torch.float64)
    for name, density in densities.items():
        axes.plot(t, density.at(t, width=width), linewidth=1.2, label=name)
    peak = max(float(density.at(t, width=width).max()) for density in densities.values())
    axes.set(yscale="log", ylim=(peak * 1e-7, peak * 3), xlabel="eigenvalue of the Hessian", ylabel="density")
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure


def landscape_figure(landscapes: Mapping[str, Landscape], *, inside: FigureBase | None = None) -> FigureBase:
    """Surfaces side by side, one per name, all on the same vertical scale; drawn ``inside`` a part of a figure."""
    figure = Figure(figsize=(4.4 * len(landscapes), 4.0), layout="constrained") if inside is None else inside
    low = min(float(surface.loss.min()) for surface in landscapes.values())
    high = max(float(surface.loss.max()) for surface in landscapes.values())
    for place, (name, surface) in enumerate(landscapes.items(), start=1):
        axes = figure.add_subplot(1, len(landscapes), place, projection="3d")
        a, b = torch.meshgrid(surface.a, surface.b, indexing="ij")
        axes.plot_surface(a.numpy(), b.numpy(), surface.loss.numpy(), cmap="viridis", vmin=low, vmax=high, linewidth=0)
        axes.set(title=name, xlabel="first direction", ylabel="second direction", zlim=(low, high))
        axes.set_zlabel("loss", labelpad=8)
        axes.tick_params(labelsize="x-small")
        axes.locator_params(nbins=5)
        axes.set_box_aspect(None, zoom=0.8)  # labels in three dimensions are not seen by the layout
    return figure
