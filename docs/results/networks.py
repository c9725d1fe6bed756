"""Recorded networks on ordered MNIST under the names that the tables have for them, and the images to try them on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from torch import nn

from noisyrnn.checkpoint import Record, load, load_network
from noisyrnn.data import MNIST, Split
from noisyrnn.data import load as splits_of
from noisyrnn.experiments.paper import noisy_label
from noisyrnn.experiments.place import CHECKPOINT
from noisyrnn.models import Noisy


def arguments(about: str | None, out: str, *, samples: int) -> argparse.ArgumentParser:
    """What every script here is told: the runs, how many test images, and the file to write."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--samples", type=int, default=samples)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(out))
    return parser


def kept(path: Path, about: dict[str, int]) -> dict[str, Any]:
    """What an earlier call with the same settings has found, so that it is not computed again."""
    before = json.loads(path.read_text()) if path.exists() else {}
    return dict(before["found"]) if before.get("about") == about else {}


def first_images(samples: int) -> Split:
    """The first test images."""
    test = splits_of(MNIST()).test
    return Split(x=test.x[:samples], y=test.y[:samples])


def networks_of(runs: list[Path]) -> dict[str, nn.Module]:
    """Each run's network, without its noise, as "<model> after <epochs> epochs"."""
    found: dict[str, nn.Module] = {}
    for place in runs:
        found[label_of(load(place / CHECKPOINT).record)] = load_network(place / CHECKPOINT).eval()
    return found


def label_of(record: Record) -> str:
    """What a checkpoint's record says that it is of: "<model> after <epochs> epochs"."""
    if record.model is None:
        raise SystemExit("A checkpoint does not say which model it is of; name runs of an experiment.")
    model = noisy_label(record.model) if isinstance(record.model, Noisy) else record.model.kind
    return f"{model} after {record.position['epoch']} epochs"


def model_of(label: str) -> str:
    """The model that a label names.

    >>> model_of("lipschitz after 30 epochs")
    'lipschitz'
    """
    return label.split(" after ")[0]
