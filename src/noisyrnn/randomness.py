"""Streams of random numbers, and the four doors of randomness: initial weights, batch order, hidden noise, input noise.

Each door has a generator of its own, derived from the run's seed, so that one can be changed without moving the others.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


def stream(*address: Any) -> torch.Generator:
    """A generator that depends on its address and on nothing else; different addresses are independent.

    >>> float(torch.rand((), generator=stream("order", 1))) == float(torch.rand((), generator=stream("order", 1)))
    True
    """
    digest = hashlib.sha256(json.dumps(address, sort_keys=True).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


@dataclass(frozen=True, kw_only=True)
class Doors:
    """Generators of batch order, hidden noise and input noise, and of what modules draw from torch's global one."""

    order: torch.Generator
    hidden: torch.Generator
    input: torch.Generator
    rest: torch.Generator

    def states(self) -> dict[str, Tensor]:
        """Where each generator stands, as tensors of bytes."""
        return {name: generator.get_state() for name, generator in vars(self).items()}

    def set_states(self, states: dict[str, Tensor]) -> None:
        """Each generator where it stood."""
        for name, generator in vars(self).items():
            generator.set_state(states[name])


def doors(seed: int) -> Doors:
    """The doors of a seed, all at their beginning.

    >>> doors(3).order.initial_seed() == doors(3).order.initial_seed() != doors(4).order.initial_seed()
    True
    """
    return Doors(**{name: stream("train", name, seed) for name in ("order", "hidden", "input", "rest")})
