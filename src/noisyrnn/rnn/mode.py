"""Evaluation mode for a while: no noise, no dropout, no rebasing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode within, the former mode of every submodule after.

    >>> network = nn.Sequential(nn.Dropout().eval(), nn.Dropout())
    >>> with evaluating(network):
    ...     [module.training for module in network]
    [False, False]
    >>> [module.training for module in network]
    [False, True]
    """
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
