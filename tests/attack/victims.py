"""A small network to attack, and sequences for it."""

import torch
from torch import Tensor, nn

TIME, FEATURES, CLASSES = 9, 2, 3


class Recurrent(nn.Module):
    """A small network with logits of the last step; ``noise`` makes its forward pass stochastic."""

    def __init__(self, noise: float = 0.0) -> None:
        super().__init__()
        self.layer = nn.RNN(FEATURES, 8, batch_first=True)
        self.readout = nn.Linear(8, CLASSES)
        self.noise = noise
        self.calls = 0
        with torch.no_grad():
            weights = torch.Generator().manual_seed(11)
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=weights) * 0.6)

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
