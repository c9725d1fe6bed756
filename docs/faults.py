"""A picture of every fault at its severities: python docs/faults.py [PATH], run by `make docs`.

One clean series, and the same series at severities 1, 3 and 5 (or the levels of the ECG table).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib
import torch

from noisyrnn.perturb import Graded, Spread, severities
from noisyrnn.randomness import stream

matplotlib.use("Agg")
from matplotlib import pyplot

PATH = Path(__file__).parent / "faults.svg"
COLOURS = ("#56B4E9", "#E69F00", "#D55E00")


def series(steps: int = 90) -> torch.Tensor:
    """Two channels that rise, fall and tremble, so that every fault shows."""
    t = torch.linspace(0, 1, steps)
    beat = torch.exp(-(((t - 0.35) / 0.04) ** 2)) * 2.2 - torch.exp(-(((t - 0.45) / 0.03) ** 2))
    return torch.stack([beat + 0.4 * torch.sin(12 * t), 0.8 * torch.cos(9 * t)], dim=-1)[None]


def picture(path: Path = PATH) -> None:
    """All tables, one panel a fault."""
    panels: list[Graded] = [*severities("all").values(), *severities("ecg").values()]
    pyplot.rcParams.update({"font.size": 8, "svg.hashsalt": "noisyrnn", "svg.fonttype": "none"})
    columns = 4
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(10.5, 1.55 * rows), sharex=True, layout="constrained")
    x = series()
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    for axis, graded in zip(axes.flat, panels, strict=False):
        worst = Spread.of(x).disturbed(graded.faults[-1], x, stream("picture", graded.name, 3))
        channel = int((worst != x).sum((0, 1)).argmax())
        for severity, colour in zip((1, 3, len(graded.faults)), COLOURS, strict=True):
            faulty = Spread.of(x).disturbed(graded.at(severity), x, stream("picture", graded.name, 3))
            axis.plot(faulty[0, :, channel], color=colour, linewidth=0.9, label=graded.labels[severity - 1])
        axis.plot(x[0, :, channel], color="black", linewidth=0.8, linestyle=(0, (3, 1.5)), label="clean")
        axis.set_title(f"{graded.name} ({graded.group})", fontsize=8)
        axis.set_yticks([])
        axis.spines[["top", "right", "left"]].set_visible(False)
        if graded is panels[0] or graded is panels[-1]:
            axis.legend(fontsize=6, frameon=False, ncols=2, loc="upper right")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    if path.suffix == ".svg":  # a tenth of a point is fine enough, and half the size
        path.write_text(re.sub(r"(\d\.\d)\d+", r"\1", path.read_text()))


if __name__ == "__main__":
    picture(*map(Path, sys.argv[1:2]))
