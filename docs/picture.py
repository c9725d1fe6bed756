"""The pictures of the README and of the demonstration: accuracy of plain and noisy networks under disturbances."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib
import numpy as np

from noisyrnn.report import Row

matplotlib.use("Agg")
from matplotlib import pyplot

# A panel: its experiment, its measure, and what is said below it.
DEMONSTRATION = {
    ("demo", "white"): "white noise, \u03c3",
    ("demo", "salt-pepper"): "salt and pepper, probability",
    ("demo", "fgsm"): "FGSM, radius",
}
RESULTS = {
    ("figure-1", "white"): "MNIST pixel by pixel:\nwhite noise, \u03c3",
    ("figure-1", "salt-pepper"): "MNIST pixel by pixel:\nsalt and pepper, probability",
    ("figure-2", "white"): "heart beats:\nwhite noise, \u03c3",
    ("figure-2", "multiplicative"): "heart beats:\nmultiplicative noise, \u03c3",
}
# As on the page of results.
PLAIN, NOISY = ("trained without noise", "#0072B2", "s"), ("trained with hidden noise", "#D55E00", "o")
LINES = {
    "lipschitz": PLAIN, "nrnn": NOISY, "nrnn mult 0.02 add 0.05": NOISY, "nrnn mult 0.03 add 0.06": NOISY
}  # fmt: skip


def picture(rows: Iterable[Row], wanted: dict[tuple[str, str], str], path: Path) -> None:
    """Mean accuracy against strength, with a band of one standard deviation where there are several seeds.

    Panels that nothing was measured for are left out; where models were trained for several numbers of epochs, the
    largest that all of them have is shown.
    """
    found = [row for row in rows if row.model in LINES]
    epochs: dict[str, dict[str, set[int]]] = {}
    for row in found:
        epochs.setdefault(row.experiment, {}).setdefault(row.model, set()).add(row.epochs)
    longest = {name: max(set.intersection(*models.values()), default=None) for name, models in epochs.items()}
    found = [row for row in found if row.epochs == longest[row.experiment]]
    known = {(row.experiment, row.measure) for row in found}
    wanted = {panel: label for panel, label in wanted.items() if panel in known}
    pyplot.rcParams.update({"font.size": 10, "svg.hashsalt": "noisyrnn", "axes.spines.top": False})
    figure, axes = pyplot.subplots(
        1, len(wanted), figsize=(min(10.5, 4.6 * len(wanted)), 3.4), sharey=True, layout="constrained"
    )
    for axis, ((experiment, measure), label) in zip(axes, wanted.items(), strict=True):
        for model, (name, colour, marker) in LINES.items():
            levels: dict[float, list[float]] = {}
            for row in found:
                asked = row.experiment == experiment and row.measure in ("clean", measure)
                if asked and row.model == model:
                    levels.setdefault(row.level, []).append(row.value)
            if not levels:
                continue
            x = sorted(levels)
            middle = np.array([np.mean(levels[level]) for level in x])
            spread = np.array([np.std(levels[level], ddof=1) if len(levels[level]) > 1 else 0 for level in x])
            seeds = len(levels[x[0]])
            axis.plot(x, middle, marker=marker, color=colour, label=name, markersize=4)
            axis.fill_between(x, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
            protocol = f"{longest[experiment]} epochs, {seeds} seed{'s' if seeds > 1 else ''}"
            axis.set_title(protocol, fontsize="small", loc="right", color="grey")
        axis.set_xlabel(label)
        axis.grid(alpha=0.25)
        axis.spines["right"].set_visible(False)
    # Shared by all panels: from the ten below the lowest point of any curve.
    lowest = min(value for axis in axes for line in axis.get_lines() for value in line.get_ydata())
    axes[0].set_ylim(10 * (lowest // 10), 100)
    axes[0].set_ylabel("test accuracy, %")
    marks, names = axes[0].get_legend_handles_labels()
    figure.legend(marks, names, frameon=False, loc="outside lower center", ncols=2)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
