"""The fast gradient sign method (Goodfellow, Shlens, Szegedy 2015), the paper's attack."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Budget, WhiteBox
from noisyrnn.attack.case import Case


class FGSM(WhiteBox):
    """x + radius sign(dL/dx): one step, exact when the loss is linear over the ball.

    >>> import torch
    >>> FGSM(radius=0.1)(lambda x: x[:, -1] * torch.tensor([1.0, -1.0]),
    ...     torch.zeros(1, 2, 2), torch.tensor([0])).tolist()
    [[[0.0, 0.0], [-0.1..., -0.1...]]]
    """

    kind: Literal["fgsm"] = "fgsm"

    @property
    @override
    def budget(self) -> Budget:
        return Budget(1, 1) * self.passes

    @override
    def _found(self, case: Case) -> Tensor:
        slope, _, _ = self._ascent(case, case.x)
        return self._inside(case, case.x + self.radius * slope.sign())
