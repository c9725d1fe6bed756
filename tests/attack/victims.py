"""A small network to attack, and sequences for it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from noisyrnn.attack import APGD, PGD, Attack

TIME, FEATURES, CLASSES = 9, 2, 3


class Recurrent(nn.Module):
    """A small network with logits of the last step; ``noise`` makes its forward pass stochastic."""

    def __init__(self, noise: float = 0.0, scale: float = 0.6, features: int = FEATURES) -> None:
        super().__init__()
        self.layer = nn.RNN(features, 8, batch_first=True)
        self.readout = nn.Linear(8, CLASSES)
        self.noise = noise
        self.calls = 0
        with torch.no_grad():
            weights = torch.Generator().manual_seed(11)
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=weights) * scale)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        hidden = self.layer(x)[0][:, -1]
        if self.noise:
            hidden = hidden + self.noise * torch.randn_like(hidden)
        return self.readout(hidden)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def z_scored(samples: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(samples, TIME, FEATURES, generator=seeded(seed))


def predicted(network: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return network(x).argmax(dim=1)


def first_start(attack: PGD | APGD, x: Tensor, generator: torch.Generator) -> Tensor:
    """Where the attack's first climb begins."""
    y = torch.zeros(len(x), dtype=torch.long)
    return attack._starts(attack._case(lambda x: x[:, 0], x, y, generator, None))[0]


def stands(network: Callable[[Tensor], Tensor], attack: Attack, x: Tensor, y: Tensor, seed: int = 0) -> Tensor:
    """Which samples the attack does not break."""
    with torch.no_grad():
        return network(attack(network, x, y, seeded(seed))).argmax(dim=1) == y


def share(flags: Tensor) -> float:
    return float(flags.double().mean())
