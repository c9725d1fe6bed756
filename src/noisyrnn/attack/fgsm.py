"""The fast gradient sign method (Goodfellow, Shlens, Szegedy 2015), the paper's attack."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Adversary
from noisyrnn.attack.ascent import Network


class FGSM(Adversary):
    """x + radius sign(dL/dx): one step, exact when the loss is linear over the ball.

    >>> FGSM(radius=0.1)(lambda x: x[:, -1] * torch.tensor([1.0, -1.0]),
    ...     torch.zeros(1, 2, 2), torch.tensor([0])).tolist()
    [[[0.0, 0.0], [-0.1..., -0.1...]]]
    """

    kind: Literal["fgsm"] = "fgsm"

    @override
    def _found(self, network: Network, x: Tensor, y: Tensor, generator: torch.Generator | None) -> Tensor:
        slope, _ = self._ascent(network, x, y)
        return self._inside(x + self.radius * slope.sign())
