"""What a training chose and why, how sure its accuracy is, and what would make it better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

if TYPE_CHECKING:
    from noisyrnn.estimator.classifier import NoisyRNNClassifier

FEW = 10
"""Series of a class that are few."""


def interval(right: int, of: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson's interval of an accuracy.

    >>> [round(end, 3) for end in interval(45, 50)]
    [0.782, 0.967]
    """
    low, high = stats.binomtest(right, of).proportion_ci(confidence, method="exact")
    return float(low), float(high)


def choices(classifier: NoisyRNNClassifier, steps: int) -> list[str]:
    """What was chosen, each with its reason."""
    network, training = classifier.network_setting_, classifier.training_
    lines = []
    if network is not None:
        front = network.front_end
        if front is not None:
            left = -(-steps // front.stride)
            lines.append(
                f"front end: windows of {front.width}, every {front.stride}: {steps} instants become {left} steps"
            )
        ways = "both directions" if network.model.bidirectional else "one direction, so that it can be streamed"
        lines.append(f"layer: {network.model.kind}, {network.model.hidden} units, {ways}")
    if classifier.companion_ is not None:
        count = classifier.companion_.convolutions.features
        lines.append(f"companion: {count} random convolutions of the series and two smoothed copies, averaged with it")
    faults = "none" if training.faults is None else ", ".join(one.kind for one in training.faults.kinds)
    lines.append(f"training: {training.steps} steps of {training.batch} series, by the number of series")
    lines.append(f"faults in training: {faults}")
    return lines


def advice(classifier: NoisyRNNClassifier, X: Any, y: NDArray[Any], *, train: float, valid: float | None) -> list[str]:
    """What would make the classifier better, the weightiest first."""
    names, counts = np.unique(y, return_counts=True)
    found = []
    rare = [(str(name), int(count)) for name, count in zip(names, counts, strict=True) if count < FEW]
    if len(rare) == len(names):
        found.append(f"Few series: the classes have {counts.min()} to {counts.max()}; more of each would help most.")
    elif rare:
        shown = ", ".join(f"{name} ({count})" for name, count in rare[:5])
        found.append(f"Rare classes: {shown}; collect more of them, or try class_weight='balanced'.")
    elif counts.max() > 10 * counts.min():
        found.append(f"Unequal classes: {counts.min()} to {counts.max()} series; class_weight='balanced' may help.")
    if valid is not None and train - valid > 0.1:
        found.append(f"Learned by heart: {train:.2f} on its own series, {valid:.2f} on others; more series would help.")
    if train < 0.9 and classifier.training_.faults is not None:
        found.append(f"Hard to fit: {train:.2f} on its own series; try milder faults, more epochs or more units.")
    still = _still_units(classifier, X)
    if still > 0.25:
        found.append(f"Saturated units: {still:.0%} hardly move; check the scaling, or take a smaller lr.")
    if classifier.skipped_steps_:
        found.append(f"Unstable: {classifier.skipped_steps_} steps were left out as not finite; take a smaller lr.")
    return found


@torch.no_grad()
def _still_units(classifier: NoisyRNNClassifier, X: Any) -> float:
    """Share of the units whose output is nearly the same at all times and for all series."""
    x, call = classifier.tensors(X[:64])
    network = classifier.network_
    weight = next(network.parameters())
    counts = call.get("lengths")
    z = x.to(weight)
    if network.front_end is not None:
        z, counts = network.front_end(z, counts)
    z = z if network.layer.batch_first else z.transpose(0, 1)
    outputs, _ = network.layer(z, lengths=counts, noise=False)
    return float((outputs.flatten(0, 1).std(0) < 1e-3).double().mean())
