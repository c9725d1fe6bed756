"""The four doors of randomness: initial weights, batch order, hidden noise, input noise.

Each has a generator of its own, derived from the run's seed, so that one can be changed without moving the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.evaluate import stream
from noisyrnn.models import Model
from noisyrnn.rnn import Classifier


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


def fresh(model: Model, *, inputs: int, classes: int, seed: int) -> Classifier:
    """A network whose initial weights depend on the seed alone; torch's global generator is not moved.

    >>> from noisyrnn.models import Lipschitz
    >>> one, two = (fresh(Lipschitz(hidden=4), inputs=1, classes=2, seed=5) for _ in range(2))
    >>> bool((one.readout.weight == two.readout.weight).all())
    True
    """
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(stream("train", "weights", seed).get_state())
        return model.build(inputs, classes)
