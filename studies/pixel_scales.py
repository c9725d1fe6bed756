"""What a lit pixel, and noise on a dark one, do to the units of networks that were trained on pixels of other scales.

A unit sees U x + b, with x one pixel. Medians over units: how far a pixel of full brightness drives it, and how far
white noise of sigma = 0.3 does, in one standard deviation, added to the pixel as it is or in proportion to the scale;
and the share of units in which a lit pixel alone saturates tanh (|tanh| > 0.99).

    python studies/pixel_scales.py [NETWORK ...] [--out studies/pixel_scales.json]
"""

from __future__ import annotations

import math

from command import arguments, keep
from networks import network, run_of
from torch import Tensor

from noisyrnn.data import PermutedMNIST, Scale

NETWORKS = (
    "permuted-mnist/lipschitz-20-epochs-seed-0",
    "permuted-mnist/noisy-0.02-0.05-20-epochs-seed-0",
    "permuted-mnist/lipschitz-raw-20-epochs-seed-0",
    "permuted-mnist/noisy-0.02-0.05-raw-20-epochs-seed-0",
)
SIGMA = 0.3
SATURATED = math.atanh(0.99)


def driven(weights: Tensor, full: float) -> dict[str, float]:
    """How far pixels up to ``full`` and noise drive units with these input weights.

    >>> import torch
    >>> driven(torch.tensor([0.5, 1.0, 4.0]), full=2.0)
    {'lit': 2.0, 'saturated': 33.3, 'noise': 0.3, 'scaled': 0.6}
    """
    weights = weights.detach().abs()
    median = float(weights.median())
    return {
        "lit": round(full * median, 2),
        "saturated": round(100 * float((full * weights > SATURATED).float().mean()), 1),
        "noise": round(SIGMA * median, 2),
        "scaled": round(SIGMA * full * median, 2),
    }


def main() -> None:
    given = arguments(__file__, __doc__, NETWORKS).parse_args()
    found: dict[str, dict[str, float]] = {}
    for name in given.networks:
        data = run_of(name).data
        if not isinstance(data, PermutedMNIST):
            raise SystemExit(f"{name} was not trained on permuted MNIST; name another network.")
        full = 255.0 if data.scale is Scale.RAW else 1.0
        found[name] = driven(network(name).layer.cells[0].sde.drift.input.weight, full)
        print(f"{name}: {found[name]}", flush=True)
    keep(given.out, found)


if __name__ == "__main__":
    main()
