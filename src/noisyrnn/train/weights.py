"""Initial weights: the first of the four doors of randomness."""

from __future__ import annotations

import torch

from noisyrnn.models import Model
from noisyrnn.randomness import stream
from noisyrnn.rnn import Classifier


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
