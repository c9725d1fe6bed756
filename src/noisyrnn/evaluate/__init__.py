"""What a network is worth: accuracy on clean, perturbed or attacked data, and certified beside attacked radii."""

from noisyrnn.evaluate.accuracies import (
    Clean,
    Measure,
    Proof,
    accuracy,
    attacked,
    logits,
    name_of,
    predictions,
    refuse_unfinite,
    with_range,
)
from noisyrnn.evaluate.margins import ATTACK, Margins, attacked_radius, compared, margin_figure

__all__ = [
    "ATTACK",
    "Clean",
    "Margins",
    "Measure",
    "Proof",
    "accuracy",
    "attacked",
    "attacked_radius",
    "compared",
    "logits",
    "margin_figure",
    "name_of",
    "predictions",
    "refuse_unfinite",
    "with_range",
]
