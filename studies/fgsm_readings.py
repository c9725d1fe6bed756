"""Which one-step attack could have given the paper's table 2? The paper says "FGSM" and a radius, no more.

Networks from checkpoints on ordered MNIST are attacked on test images by every reading of these words that we could
think of.

    python studies/fgsm_readings.py [NETWORK ...] [--samples 1000] [--out studies/fgsm_readings.json]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from readings import SIX, Accuracies, accuracies, compare
from torch import Tensor, nn

from noisyrnn.attack import Loss, gradient
from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy
from noisyrnn.randomness import stream

NETWORKS = SIX[:2]
"""Those that were trained for the paper's 100 epochs."""
RADII = (0.01, 0.05, 0.1, 0.15)
DEVIATION = 0.3081
"""Of the pixels of MNIST: a radius on standardised images is this many times smaller on pixels between 0 and 1."""

Step = Callable[[Tensor, Tensor, float], Tensor]
"""x, gradient and radius -> x~."""

STEPS: dict[str, Step] = {
    "x + r sign(g)": lambda x, g, r: x + r * g.sign(),
    "clipped to [0, 1]": lambda x, g, r: (x + r * g.sign()).clamp(0, 1),
    "r on standardised pixels": lambda x, g, r: x + DEVIATION * r * g.sign(),
    "r on standardised pixels, clipped": lambda x, g, r: (x + DEVIATION * r * g.sign()).clamp(0, 1),
    "only where there is ink": lambda x, g, r: x + r * g.sign() * (x > 0),
    "g with the length of r sign(g)": lambda x, g, r: x + r * g / g.square().mean(dim=(1, 2), keepdim=True).sqrt(),
    "g / max|g|": lambda x, g, r: x + r * g / g.abs().amax(dim=(1, 2), keepdim=True),
    "random signs": lambda x, g, r: x + r * (torch.randn(g.shape, generator=stream("signs")) * g.abs()).sign(),
}


def _in_double(network: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    found = gradient(network.double(), x.double(), y)[0].to(x)
    network.float()
    return found


def _with_noise(network: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        found = gradient(network.train(), x, y)[0]
    network.eval()
    return found


def measured(network: nn.Module, images: Split, others: dict[str, nn.Module]) -> Accuracies:
    """Accuracy under each variant at each radius; ``others`` lend their gradients."""
    x, y, plain = images.x, images.y, STEPS["x + r sign(g)"]
    own = gradient(network, x, y)[0]
    slopes = {
        "g of the logit margin": gradient(network, x, y, loss=Loss.EXCESS)[0],
        "g in double precision": _in_double(network, x, y),
        "g with noise on": _with_noise(network, x, y),
        **{f"g of {label}": gradient(other, x, y)[0] for label, other in others.items()},
    }
    disturbed = {name: partial(step, x, own) for name, step in STEPS.items()}
    disturbed |= {name: partial(plain, x, slope) for name, slope in slopes.items()}
    return {"clean": {"0": accuracy(network, images)}, **accuracies(network, images, RADII, disturbed)}


if __name__ == "__main__":
    compare(measured, script=__file__, about=__doc__, networks=NETWORKS, samples=1000, table="table-2", measure="fgsm")
