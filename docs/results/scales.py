"""What a lit pixel, and noise on a dark one, do to the units of networks that were trained on pixels of other scales.

A unit sees U x + b, with x one pixel. Medians over units: how far a pixel of full brightness drives it, and how far
white noise of sigma = 0.3 does, in one standard deviation, added to the pixel as it is or in proportion to the scale;
and the share of units in which a lit pixel alone saturates tanh (|tanh| > 0.99). Run as: python
docs/results/scales.py RUN... --out scales.json, with directories below results/mnist.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from networks import label_of
from pydantic import TypeAdapter

from noisyrnn.checkpoint import load, load_network
from noisyrnn.data import DataSet, PermutedMNIST, Scale
from noisyrnn.experiments.place import CHECKPOINT, write_json

SIGMA = 0.3
SATURATED = math.atanh(0.99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("scales.json"))
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for place in given.runs:
        record = load(place / CHECKPOINT).record
        data = TypeAdapter(DataSet).validate_python(record.about["data"])
        if not isinstance(data, PermutedMNIST):
            parser.error(f"{place} was not trained on permuted MNIST; name another run.")
        full = 255.0 if data.scale is Scale.RAW else 1.0
        weights = load_network(place / CHECKPOINT).layer.cells[0].sde.drift.input.weight.detach().abs()
        name = f"{label_of(record)}, {data.scale.value}"
        found[name] = {
            "lit": round(full * float(weights.median()), 2),
            "saturated": round(100 * float((full * weights > SATURATED).float().mean()), 1),
            "noise": round(SIGMA * float(weights.median()), 2),
            "scaled": round(SIGMA * full * float(weights.median()), 2),
        }
        print(f"{name}: {found[name]}")
    write_json(given.out, found)


if __name__ == "__main__":
    main()
