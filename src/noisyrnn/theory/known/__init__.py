"""Systems with known answers, on which the theorems are tested and shown: examples, oracles, demonstrations."""

from noisyrnn.theory.known import demonstrations, oracles
from noisyrnn.theory.known.examples import (
    Example,
    QuadraticDecay,
    geometric_brownian_motion,
    random_example,
    reference,
    two_classes,
)

__all__ = [
    "Example",
    "QuadraticDecay",
    "demonstrations",
    "geometric_brownian_motion",
    "oracles",
    "random_example",
    "reference",
    "two_classes",
]
