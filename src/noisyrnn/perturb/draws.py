"""Random numbers of perturbations: sample after sample, in single precision on the generator's device, then moved."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# torch draws normal numbers in blocks of sixteen; whole blocks for each sample keep samples apart.
_NORMAL_BLOCK = 16


def normal(x: Tensor, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """xi ~ N(0, 1) of ``shape`` for each sample of x."""
    count = math.prod(shape)
    blocks = -(-count // _NORMAL_BLOCK) * _NORMAL_BLOCK
    drawn = torch.randn(len(x), blocks, generator=generator, device=generator.device, dtype=torch.float32)
    return drawn[:, :count].reshape(len(x), *shape).to(x.device)


def uniform(x: Tensor, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """u uniform in [0, 1) of ``shape`` for each sample of x."""
    drawn = torch.rand(len(x), *shape, generator=generator, device=generator.device, dtype=torch.float32)
    return drawn.to(x.device)


def signs(x: Tensor, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """+1 or -1 with equal odds, of ``shape`` for each sample of x."""
    return torch.where(uniform(x, shape, generator) < 0.5, -1.0, 1.0)
