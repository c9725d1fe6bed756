"""Certified radii of a classifier: by its network's own gain where there is one, else by randomised smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn import theory
from noisyrnn.randomness import stream

if TYPE_CHECKING:
    from noisyrnn.estimator.classifier import NoisyRNNClassifier


@dataclass(frozen=True, kw_only=True)
class Certified:
    """By series: class (None where undecided), l_2 radius over time and channels of the scaled series, and by what.

    ``method`` is "gain", which holds for the classifier itself and always, or "smoothing", which holds for the vote
    over noisy copies with confidence 1 - alpha for each series.
    """

    label: NDArray[Any]
    radius: NDArray[np.float64]
    method: str
    alpha: float | None = None
    sigma: float | None = None

    def certified_accuracy(self, y: Any, radius: float) -> float:
        """Share of the series whose class is y within the radius."""
        right = np.array([label == wanted for label, wanted in zip(self.label, np.asarray(y), strict=True)])
        return float((right & (self.radius >= radius)).mean())

    def __str__(self) -> str:
        what = "the network's gain" if self.method == "gain" else f"randomised smoothing at sigma = {self.sigma:g}"
        undecided = sum(label is None for label in self.label)
        return (
            f"By {what}: median radius {float(np.median(self.radius)):.3g} in units of the scaled series, "
            f"{undecided} of {len(self.label)} series undecided."
        )


def certify(classifier: NoisyRNNClassifier, X: Any, *, sigma: float, draws: int, alpha: float) -> Certified:
    """Radii for each series of X."""
    x, call = classifier.tensors(X)
    network = classifier.network_
    by_gain = getattr(theory, "gain_certificate", None)
    if by_gain is not None and not call and classifier.companion_ is None:
        try:
            found = by_gain(network, x.to(next(network.parameters()).device))
        except (ValueError, TypeError, NotImplementedError):
            found = None  # this network has no gain that holds
        if found is not None:
            labels = classifier.classes_[network(x).argmax(1).cpu().numpy()].astype(object)
            return Certified(label=labels, radius=np.asarray(found.radius, dtype=np.float64), method="gain")
    labels, radii = [], []
    generator = stream("estimator", "smoothing", classifier.seed_)
    for index in range(len(x)):
        own = {name: one[index : index + 1] for name, one in call.items()}
        one = x[index : index + 1]
        if "lengths" in own:  # a shorter series by itself needs no padding
            end = int(own.pop("lengths"))
            one, own = one[:, :end], {name: value[:, :end] for name, value in own.items()}

        def votes(noisy: torch.Tensor, own: dict[str, torch.Tensor] = own) -> torch.Tensor:
            told = {name: value.expand(len(noisy), -1) for name, value in own.items()}
            return classifier.probabilities(noisy, told)

        smoothed = theory.smoothing(votes, one, sigma=sigma, generator=generator, alpha=alpha, draws=draws)
        code = int(smoothed.label)
        labels.append(None if code < 0 else classifier.classes_[code])
        radii.append(float(smoothed.radius))
    return Certified(
        label=np.array(labels, dtype=object), radius=np.array(radii), method="smoothing", alpha=alpha, sigma=sigma
    )
