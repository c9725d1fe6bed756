"""Robust accuracy against the radius of an attack."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from noisyrnn.attack.ascent import Network
from noisyrnn.attack.case import Case
from noisyrnn.attack.losses import Labels
from noisyrnn.attack.union import Attack
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
    attack: Attack,
    network: Network,
    x: Sequence,
    y: Labels,
    *,
    radii: tuple[float, ...],
    generator: torch.Generator | None = None,
    lengths: Labels | None = None,
) -> Curve:
    """Robust accuracy against the radius: balls are nested, so the worst case of a sample only gets worse.

    Parameters
    ----------
    attack
        Without target; its own radius does not matter.
    network, x, y
        What is attacked, at which samples, and their true classes.
    radii
        Rising.
    generator
        Random numbers, for attacks that draw them.
    lengths
        Valid steps of each sample, if they are not all the same.

    Examples
    --------
    >>> from noisyrnn.attack import FGSM
    >>> line = lambda x: x[:, -1] * torch.tensor([1.0, -1.0])
    >>> x = torch.tensor([[[0.3, 0.3]], [[0.1, 0.1]]])
    >>> curve(FGSM(radius=0), line, x, torch.tensor([0, 0]), radii=(0.0, 0.2, 0.4)).accuracy
    (1.0, 0.5, 0.0)
    """
    if attack.targeted or list(radii) != sorted(radii):
        raise ValueError(f"A curve needs an attack without target and rising radii, got {attack!r} and {radii}.")
    whole = Case(network=network, x=x, y=y, lengths=lengths)
    standing = torch.ones(len(x), dtype=torch.bool, device=x.device)
    rows = []
    for radius in radii:
        left = standing.nonzero()[:, 0]
        case = whole.part(left)
        found = case.x
        if radius and len(left):
            found = attack.at(radius)(network, case.x, case.y, generator, lengths=case.lengths)
        standing = standing.clone()
        standing[left] = case.excess(found, attack.passes, attack.batch) <= 0
        rows.append(standing)
    return Curve(radii=tuple(radii), survives=torch.stack(rows) if rows else standing[None, :][:0])
