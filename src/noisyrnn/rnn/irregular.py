"""Irregular sampling: step sizes that come with the data."""

from __future__ import annotations

import torch
from torch import Tensor


def step_sizes(dt: float | Tensor, *, batch: int, steps: int, batch_first: bool, like: Tensor) -> Tensor:
    """dt as (time, 1 or batch, 1), from a number, one per step, or one per sample and step in the order of the input.

    >>> step_sizes(0.5, batch=2, steps=3, batch_first=True, like=torch.zeros(1)).shape
    torch.Size([3, 1, 1])
    """
    sizes = torch.as_tensor(dt, dtype=like.dtype, device=like.device)
    if not bool((sizes > 0).all()) or not bool(sizes.isfinite().all()):
        raise ValueError("Step sizes dt must be positive and finite; drop or merge samples taken at the same time.")
    if sizes.ndim == 0:
        return sizes.expand(steps, 1, 1)
    if sizes.shape == (steps,):
        return sizes.reshape(steps, 1, 1)
    if sizes.shape == ((batch, steps) if batch_first else (steps, batch)):
        return (sizes.mT if batch_first else sizes).unsqueeze(-1)
    axes = "(batch, time)" if batch_first else "(time, batch)"
    raise ValueError(
        f"dt must be a number, one for each of the {steps} steps, or one for each sample and step {axes}; "
        f"got shape {tuple(sizes.shape)}."
    )
