"""Make what the documents show: the README's picture from the demonstration's rows.

Run by `make docs`. Results, theory and speed have commands of their own, named on their pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

from noisyrnn.experiments import EXPERIMENTS, Joblib, Row, rows, run

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
PANELS = {"white": "white noise, \u03c3", "salt-pepper": "salt and pepper, probability", "fgsm": "FGSM, radius"}
LINES = {"lipschitz": ("trained without noise", "#D55E00", "o"), "nrnn": ("trained with hidden noise", "#0072B2", "s")}


def picture(found: list[Row], path: Path) -> None:
    """Mean accuracy against strength, with a band of one standard deviation over the seeds."""
    pyplot.rcParams.update({"font.size": 10, "svg.hashsalt": "noisyrnn", "axes.spines.top": False})
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.1), sharey=True, layout="constrained")
    for axis, (measure, label) in zip(axes, PANELS.items(), strict=True):
        for model, (name, colour, marker) in LINES.items():
            levels: dict[float, list[float]] = {}
            for row in found:
                if row["model"] == model and row["measure"] in ("clean", measure):
                    levels.setdefault(row["level"], []).append(row["value"])
            x = sorted(levels)
            middle = np.array([np.mean(levels[level]) for level in x])
            spread = np.array([np.std(levels[level], ddof=1) for level in x])
            axis.plot(x, middle, marker=marker, color=colour, label=name, markersize=4)
            axis.fill_between(x, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
        axis.set_xlabel(label)
        axis.set_ylim(0, 100)
        axis.grid(alpha=0.25)
        axis.spines["right"].set_visible(False)
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(frameon=False, loc="lower left")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    runs = Path("demo") / "runs"
    outcome = run(EXPERIMENTS["demo"], runs, engine=Joblib(workers=2))
    if not outcome.complete:
        sys.exit("; ".join(outcome.failures.values()) or "another runner is at work; run again when it is done.")
    picture([row for row in rows(runs) if row["experiment"] == "demo"], HERE / "demo.svg")


if __name__ == "__main__":
    main()
