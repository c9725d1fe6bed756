"""Accuracy of a released noisy RNN when its steps are shortened to those of its training, on average.

The released multiplicative noise is a factor 1 - m + m U on the drift, with mean 1 - m / 2 in training; in use the
factor is 1. Run as: python docs/results/bias.py results/ecg/RUN... --out bias.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from pydantic import TypeAdapter

from noisyrnn.checkpoint import load, load_network
from noisyrnn.data import DataSet
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import accuracy
from noisyrnn.experiments.place import CHECKPOINT, write_json
from noisyrnn.models import Convention, Noisy


def shortened(path: Path) -> tuple[float, dict[str, float]]:
    """The multiplicative strength of a saved network, and its accuracy for each factor of its steps."""
    record, network = load(path).record, load_network(path)
    model = record.model
    if not isinstance(model, Noisy) or model.convention is not Convention.RELEASED:
        sys.exit(f"{path} is no noisy RNN in the released convention; name another run.")
    test = splits_of(TypeAdapter(DataSet).validate_python(record.about["data"])).test
    steps = network.layer.cells[0].length.dt
    learned, found = steps.detach().clone(), {}
    for share in (0.0, 0.25, 0.5, 0.75):
        factor = 1 - share * model.multiplicative
        with torch.no_grad():
            steps.copy_(learned * factor)
        found[f"{factor:.3f}"] = accuracy(network, test)
    return model.multiplicative, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("bias.json"))
    given = parser.parse_args()
    found = {}
    for place in given.runs:
        strength, accuracies = shortened(place / CHECKPOINT)
        found[f"{strength:g}"] = accuracies
        print(f"multiplicative noise {strength:g}")
        for factor, value in accuracies.items():
            print(f"  steps times {factor}: {value:.1f} %")
    write_json(given.out, found)


if __name__ == "__main__":
    main()
