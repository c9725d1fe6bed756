"""Certified accuracy against the disturbance, and what attacks leave, from recorded rows: docs/certified.svg."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from matplotlib import rc_context
from matplotlib.figure import Figure

from noisyrnn.rows import Row

_TASKS = {
    "certified-ecg": ("ECG", 140, "#0072B2"),
    "certified-digits": ("digits", 64, "#D55E00"),
    "certified-mnist": ("MNIST", 784, "#009E73"),
}
"""What a task is called, its steps and its colour; those that have no rows yet are left out."""


def figure(rows: Iterable[Row], path: Path) -> None:
    """Draw the figure into ``path``."""
    found: dict[tuple[str, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.experiment not in _TASKS or row.model != "certified":
            continue
        steps = _TASKS[row.experiment][1]
        if row.measure in ("clean", "certified"):
            found[row.experiment, "proved"][row.level].append(row.value)
        elif row.measure in ("certified l2", "apgd l2"):
            kind = "proved" if row.measure == "certified l2" else "attacked"
            found[row.experiment, kind][row.level / steps**0.5].append(row.value)
    with rc_context({"svg.hashsalt": "certified", "svg.fonttype": "none"}):
        drawing = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = drawing.subplots()
        for (name, kind), values in sorted(found.items()):
            levels = sorted(values)
            label = f"{_TASKS[name][0]}: {'proved' if kind == 'proved' else 'left by APGD'}"
            style = "o-" if kind == "proved" else "x--"
            heights = [mean(values[level]) for level in levels]
            axes.plot(levels, heights, style, label=label, color=_TASKS[name][2])
        axes.set(xlabel="disturbance, RMS over the steps", ylabel="accuracy, %", ylim=(-2, 102))
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.legend(frameon=False, fontsize="small")
        drawing.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
