"""Which defective pixels could have given the paper's columns on salt and pepper?

As printed, a pixel becomes the largest or the smallest value with probability alpha / 2 each. Other readings are
measured on the test images of ordered MNIST beside it. Run as: python docs/results/impulses.py RUN... --out
impulses.json, with directories below results/mnist.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from networks import model_of, networks_of
from torch import Tensor

from noisyrnn.data import MNIST, Split
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import accuracy, stream
from noisyrnn.experiments.place import write_json
from noisyrnn.paper import printed

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("impulses.json"))
    given = parser.parse_args()
    test, paper = splits_of(MNIST()).test, printed("ordered-mnist")
    x, y = test.x[: given.samples], test.y[: given.samples]
    u = torch.rand(x.shape, generator=stream("impulses"))
    found: dict[str, dict[str, object]] = {}
    for label, network in networks_of(given.runs).items():
        print(label)
        for name, reading in READINGS.items():
            row = {f"{alpha:g}": accuracy(network, Split(x=reading(x, u, alpha), y=y)) for alpha in LEVELS}
            row = {alpha: round(value, 1) for alpha, value in row.items()}
            away = sum(abs(row[level] - paper[model_of(label)][f"salt-pepper:{level}"]) for level in row) / len(row)
            found.setdefault(label, {})[name] = {"accuracy": row, "distance": away}
            print(
                f"  {name:16} " + "  ".join(f"{r}: {v:5.1f}" for r, v in row.items()) + f"  {away:5.1f} from the paper"
            )
    write_json(given.out, {"samples": given.samples, "found": found})


if __name__ == "__main__":
    main()
