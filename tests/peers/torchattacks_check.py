"""Our APGD and Square beside those of torchattacks, on a small trained network with inputs in [0, 1].

Not a test of the suite: torchattacks asks for other versions of what is installed here, so it has an environment of its
own and is installed there without its dependencies. Exit code 0 only if ours leave no more accuracy, on average over
four starts and within 2 points.
"""

from __future__ import annotations

import sys

import torch
import torchattacks
from torch import Tensor, nn

from noisyrnn.attack import APGD, Attack, Loss, Norm, Square
from noisyrnn.data import Split
from noisyrnn.models import Lipschitz
from noisyrnn.train import Train, fit, fresh

SAMPLES, TIME, CLASSES, CLOSE = 200, 16, 4, 2.0
STARTS = range(4)
RADII = {Norm.LINF: 0.06, Norm.L2: 0.25}


class Image(nn.Module):
    """The network for images of one channel, TIME by 1, as torchattacks has them."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x[:, 0])


def victim() -> tuple[nn.Module, Tensor, Tensor]:
    """A trained network and samples of four waves, which it knows."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(SAMPLES) % CLASSES
    wave = torch.sin((0.4 + 0.25 * y)[:, None, None] * torch.arange(TIME)[None, :, None])
    x = (0.5 + 0.3 * wave + 0.05 * torch.randn(SAMPLES, TIME, 1, generator=generator)).clamp(0, 1)
    network = fresh(Lipschitz(hidden=16, dt=0.3), inputs=1, classes=CLASSES, seed=0)
    fit(network, Split(x=x, y=y), Train(epochs=60, lr=0.02, batch=40), seed=0)
    return network.eval(), x, y


def left(network: nn.Module, x: Tensor, y: Tensor) -> float:
    return 100 * float((network(x).argmax(1) == y).double().mean())


def left_by_theirs(attack: type, network: nn.Module, x: Tensor, y: Tensor, **settings: object) -> float:
    """On average over starts."""
    image = Image(network)
    found = [attack(image, seed=seed, **settings)(x[:, None].clone(), y).detach() for seed in STARTS]
    return sum(left(image, one, y) for one in found) / len(found)


def left_by_ours(attack: Attack, network: nn.Module, x: Tensor, y: Tensor) -> float:
    """On average over starts."""
    found = [attack(network, x, y, torch.Generator().manual_seed(seed)) for seed in STARTS]
    return sum(left(network, one, y) for one in found) / len(found)


def main() -> None:
    network, x, y = victim()
    good = left(network, x, y)
    print(f"clean {good:.1f}")
    agreed = good > 90
    for norm, radius in RADII.items():
        ball = {"radius": radius, "norm": norm, "bounds": (0, 1)}
        theirs = {"eps": radius, "norm": {Norm.LINF: "Linf", Norm.L2: "L2"}[norm]}
        pairs = {
            "APGD": (APGD(**ball), torchattacks.APGD, {"steps": 50, "loss": "ce"}),
            "APGD on DLR": (APGD(loss=Loss.DLR, **ball), torchattacks.APGD, {"steps": 50, "loss": "dlr"}),
            "APGD towards 3 classes": (
                APGD(loss=Loss.DLR, targets=3, **ball), torchattacks.APGDT, {"steps": 50, "n_classes": CLASSES},
            ),
        }  # fmt: skip
        if norm is Norm.LINF:  # for l2 theirs takes square images only
            pairs["Square"] = Square(queries=500, **ball), torchattacks.Square, {"n_queries": 500}
        for title, (attack, peer, settings) in pairs.items():
            mine = left_by_ours(attack, network, x, y)
            other = left_by_theirs(peer, network, x, y, **theirs, **settings)
            print(f"{norm.value:5} {title:24} ours leaves {mine:5.1f}, torchattacks {other:5.1f}")
            agreed = agreed and mine <= other + CLOSE
    sys.exit(0 if agreed else 1)


if __name__ == "__main__":
    main()
