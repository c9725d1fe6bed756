"""Which one-step attack could have given the paper's table 2? The paper says "FGSM" and a radius, no more.

Networks from checkpoints on ordered MNIST are attacked on test images by every reading of these words that we could
think of. Run as: python docs/results/attacks.py RUN... --out attacks.json, with directories below results/mnist.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from networks import model_of, networks_of
from torch import Tensor, nn

from noisyrnn.attack import Loss, gradient
from noisyrnn.data import MNIST
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import logits, stream
from noisyrnn.experiments.place import write_json
from noisyrnn.paper import printed

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


def measured(network: nn.Module, x: Tensor, y: Tensor, others: dict[str, nn.Module]) -> dict[str, dict[str, float]]:
    """Accuracy in percent under each variant at each radius; ``others`` lend their gradients."""

    def accuracy(x: Tensor) -> float:
        return round(100 * float((logits(network, x).argmax(1) == y).double().mean()), 1)

    plain = STEPS["x + r sign(g)"]
    g = gradient(network, x, y)[0]
    found = {"clean": {"0": accuracy(x)}}
    found |= {name: {f"{r:g}": accuracy(step(x, g, r)) for r in RADII} for name, step in STEPS.items()}
    slopes = {
        "g of the logit margin": gradient(network, x, y, loss=Loss.EXCESS)[0],
        "g in double precision": _in_double(network, x, y),
        "g with noise on": _with_noise(network, x, y),
        **{f"g of {label}": gradient(other, x, y)[0] for label, other in others.items()},
    }
    return found | {name: {f"{r:g}": accuracy(plain(x, slope, r)) for r in RADII} for name, slope in slopes.items()}


def distance(found: dict[str, float], paper: dict[str, float]) -> float | None:
    """Mean difference from the paper's accuracies without sign, in points; none for the clean images."""
    return None if "0" in found else sum(abs(found[f"{r:g}"] - paper[f"fgsm:{r:g}"]) for r in RADII) / len(RADII)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("attacks.json"))
    given = parser.parse_args()
    test = splits_of(MNIST()).test
    x, y = test.x[: given.samples], test.y[: given.samples]
    networks, paper = networks_of(given.runs), printed("ordered-mnist-fgsm")
    found: dict[str, dict[str, object]] = {}
    for label, network in networks.items():
        rows = measured(network, x, y, {name: other for name, other in networks.items() if name != label})
        print(label)
        for name, row in rows.items():
            away = distance(row, paper[model_of(label)])
            found.setdefault(label, {})[name] = {"accuracy": row, "distance": away}
            print(f"  {name:40} " + "  ".join(f"{r}: {value:5.1f}" for r, value in row.items()), end="")
            print("" if away is None else f"  {away:5.1f} from the paper")
    write_json(given.out, {"samples": given.samples, "found": found})


if __name__ == "__main__":
    main()
