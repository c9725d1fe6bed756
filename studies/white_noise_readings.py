"""Which noise could have given the paper's columns on white noise?

As printed, sigma xi with standard normal xi is added to every pixel. Other readings are measured on the test images of
ordered MNIST beside it.

    python studies/white_noise_readings.py [NETWORK ...] [--samples 10000] [--out studies/white_noise_readings.json]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from readings import SIX, Accuracies, accuracies, compare
from torch import Tensor, nn

from noisyrnn.data import Split
from noisyrnn.randomness import stream

LEVELS = (0.1, 0.2, 0.3)

READINGS: dict[str, Callable[[Tensor, Tensor, Tensor, float], Tensor]] = {
    "as printed": lambda x, xi, u, sigma: x + sigma * xi,
    "clipped to [0, 1]": lambda x, xi, u, sigma: (x + sigma * xi).clamp(0, 1),
    "uniform in [0, sigma]": lambda x, xi, u, sigma: x + sigma * u,
    "uniform in [-sigma, sigma]": lambda x, xi, u, sigma: x + sigma * (2 * u - 1),
}
"""x, normal numbers, uniform numbers and sigma -> x~."""


def measured(network: nn.Module, images: Split, others: dict[str, nn.Module]) -> Accuracies:
    """Accuracy under each reading at each strength; the same random numbers for every network."""
    generator = stream("whites")
    xi = torch.randn(images.x.shape, generator=generator)
    u = torch.rand(images.x.shape, generator=generator)
    disturbed = {name: partial(reading, images.x, xi, u) for name, reading in READINGS.items()}
    return accuracies(network, images, LEVELS, disturbed)


if __name__ == "__main__":
    compare(measured, script=__file__, about=__doc__, networks=SIX, samples=10_000, table="table-1", measure="white")
