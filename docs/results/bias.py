"""Accuracy of a released noisy RNN when its steps are shortened to those of its training, on average.

The released multiplicative noise is a factor 1 - m + m U on the drift, with mean 1 - m / 2 in training; in use the
factor is 1. Run as: python docs/results/bias.py results/ecg/RUN/checkpoint.safetensors
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from pydantic import TypeAdapter

from noisyrnn.checkpoint import load, load_network
from noisyrnn.data import DataSet
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import accuracy
from noisyrnn.models import Convention, Noisy


def main(path: Path) -> None:
    record, network = load(path).record, load_network(path)
    model = record.model
    if not isinstance(model, Noisy) or model.convention is not Convention.RELEASED:
        sys.exit("Give the checkpoint of a noisy RNN in the released convention.")
    test = splits_of(TypeAdapter(DataSet).validate_python(record.about["data"])).test
    steps = network.layer.cells[0].length.dt
    learned = steps.detach().clone()
    for share in (0.0, 0.25, 0.5, 0.75):
        factor = 1 - share * model.multiplicative
        with torch.no_grad():
            steps.copy_(learned * factor)
        print(f"steps times {factor:.3f}: {accuracy(network, test):.1f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
