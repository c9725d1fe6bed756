"""Robust accuracy against the radius of an attack."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from noisyrnn.attack.adversary import pieces
from noisyrnn.attack.ascent import Labels, Network, mean_logits
from noisyrnn.attack.fgsm import FGSM
from noisyrnn.attack.pgd import PGD
from noisyrnn.types import Sequence


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Which samples survive at which radius; a sample that fell stays fallen at every larger radius."""

    radii: tuple[float, ...]
    survives: Bool[Tensor, "radii batch"]

    @property
    def accuracy(self) -> tuple[float, ...]:
        """Share of the samples that survive at each radius: never rises."""
        return tuple(self.survives.double().mean(dim=1).tolist())


def curve(
    attack: FGSM | PGD,
    network: Network,
    x: Sequence,
    y: Labels,
    *,
    radii: tuple[float, ...],
    generator: torch.Generator | None = None,
) -> Curve:
    """Robust accuracy against the radius: balls are nested, so the worst case of a sample only gets worse.

    >>> line = lambda x: x[:, -1] * torch.tensor([1.0, -1.0])
    >>> x = torch.tensor([[[0.3, 0.3]], [[0.1, 0.1]]])
    >>> curve(FGSM(radius=0), line, x, torch.tensor([0, 0]), radii=(0.0, 0.2, 0.4)).accuracy
    (1.0, 0.5, 0.0)
    """
    if attack.targeted or list(radii) != sorted(radii):
        raise ValueError(f"A curve needs an attack without target and rising radii, got {attack!r} and {radii}.")
    standing = torch.ones(len(x), dtype=torch.bool, device=x.device)
    rows = []
    for radius in radii:
        left = standing.nonzero()[:, 0]
        found = attack.at(radius)(network, x[left], y[left], generator) if radius and len(left) else x[left]
        standing = standing.clone()
        for piece in pieces(len(left), attack.batch):
            standing[left[piece]] = mean_logits(network, found[piece], attack.passes).argmax(dim=1) == y[left[piece]]
        rows.append(standing)
    return Curve(radii=tuple(radii), survives=torch.stack(rows) if rows else standing[None, :][:0])
