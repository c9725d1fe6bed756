"""A guard against steps that leave the finite numbers: such a step is left out, and many in a row end the training."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from noisyrnn.train.setting import Diverged

PATIENCE = 50
"""Steps in a row that may be left out."""


class GuardedStep:
    """Steps of an optimiser, with clipped gradients; a step whose loss or gradient is not finite is left out.

    >>> weight = nn.Parameter(torch.ones(2))
    >>> step = GuardedStep(torch.optim.SGD([weight], lr=0.1), [weight], clip=1.0)
    >>> step(weight.sum()), step(weight.sum() * torch.nan), step.skipped
    (True, False, 1)
    """

    def __init__(self, optimiser: Optimizer, parameters: Iterable[nn.Parameter], *, clip: float | None = None) -> None:
        self.optimiser = optimiser
        self.parameters = [one for one in parameters if one.requires_grad]
        self.clip = clip
        self.skipped = 0
        self.in_a_row = 0

    def __call__(self, loss: Tensor) -> bool:
        """Whether a step was made downhill from ``loss``."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.parameters, torch.inf if self.clip is None else self.clip)
        if bool(torch.isfinite(norm)) and bool(torch.isfinite(loss.detach())):
            self.optimiser.step()
            self.in_a_row = 0
            return True
        self.optimiser.zero_grad(set_to_none=True)
        self.skipped += 1
        self.in_a_row += 1
        if self.in_a_row >= PATIENCE:
            raise Diverged(f"{PATIENCE} steps in a row left the finite numbers: try a smaller lr, or scale the data.")
        return False
