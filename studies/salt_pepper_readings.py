"""Which defective pixels could have given the paper's columns on salt and pepper?

As printed, a pixel becomes the largest or the smallest value with probability alpha / 2 each. Other readings are
measured on the test images of ordered MNIST beside it.

    python studies/salt_pepper_readings.py [NETWORK ...] [--samples 10000] [--out studies/salt_pepper_readings.json]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from readings import SIX, Accuracies, accuracies, compare
from torch import Tensor, nn

from noisyrnn.data import Split
from noisyrnn.randomness import stream

LEVELS = (0.03, 0.05, 0.1)


def _defective(salt: float, pepper: float, low: float = 0.0) -> Callable[[Tensor, Tensor, float], Tensor]:
    """x, uniform numbers and alpha -> x~: white with probability alpha salt, ``low`` with probability alpha pepper."""

    def reading(x: Tensor, u: Tensor, alpha: float) -> Tensor:
        low_too = torch.where(u > 1 - alpha * pepper, torch.full_like(x, low), x)
        return torch.where(u < alpha * salt, torch.ones_like(x), low_too)

    return reading


READINGS = {
    "as printed": _defective(0.5, 0.5),
    "alpha each": _defective(1, 1),
    "salt only": _defective(1, 0),
    "pepper is -1": _defective(0.5, 0.5, low=-1.0),
}


def measured(network: nn.Module, images: Split, others: dict[str, nn.Module]) -> Accuracies:
    """Accuracy under each reading at each probability; the same pixels are hit for every network."""
    u = torch.rand(images.x.shape, generator=stream("impulses"))
    return accuracies(network, images, LEVELS, {name: partial(at, images.x, u) for name, at in READINGS.items()})


if __name__ == "__main__":
    compare(
        measured, script=__file__, about=__doc__, networks=SIX, samples=10_000, table="table-1", measure="salt-pepper"
    )
