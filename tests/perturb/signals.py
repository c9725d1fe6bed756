"""Signals, and a test of means.

A mean of n numbers with standard deviation s is accepted within 5 s / sqrt(n), a false-alarm rate of 6e-7 for each
comparison under the normal approximation; the seeds are fixed, so a failure is a change.
"""

import math

import torch

FALSE_ALARM = 5.0  # standard errors


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def signal(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    # Inside (-3, 3), the range that the settings above name.
    return (torch.rand(shape, generator=seeded(seed), dtype=torch.float64) * 5.8 - 2.9).to(dtype)


def close(measured: torch.Tensor, expected: float, deviation: float) -> bool:
    return abs(float(measured.double().mean()) - expected) < FALSE_ALARM * deviation / math.sqrt(measured.numel())
