"""The networks of recorded runs on ordered MNIST, under the names that the tables have for them."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from noisyrnn.checkpoint import load, load_network
from noisyrnn.experiments.paper import noisy_label
from noisyrnn.experiments.place import CHECKPOINT
from noisyrnn.models import Noisy


def networks_of(runs: list[Path]) -> dict[str, nn.Module]:
    """Each run's network, without its noise, as "<model> after <epochs> epochs"."""
    found: dict[str, nn.Module] = {}
    for place in runs:
        record = load(place / CHECKPOINT).record
        if record.model is None:
            raise SystemExit(f"The checkpoint in {place} does not say which model it is of; name another run.")
        model = noisy_label(record.model) if isinstance(record.model, Noisy) else record.model.kind
        found[f"{model} after {record.position['epoch']} epochs"] = load_network(place / CHECKPOINT).eval()
    return found


def model_of(label: str) -> str:
    """The model that a label names.

    >>> model_of("lipschitz after 30 epochs")
    'lipschitz'
    """
    return label.split(" after ")[0]
