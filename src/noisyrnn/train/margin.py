r"""A hinge on certified radii, for networks that have a gain (``rnn.gain``).

    r_b = (z_y - z_b) / (g |w_y - w_b|),      loss = mean over samples of max(0, 1 - min_b r_b / rms)

r is the certified RMS disturbance of a readout by mean: how far the inputs may move, as a root of the mean over the
steps, before class b can win.
"""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.rnn import Classifier, Layer, NoGain, Pooling


def certified_gain(network: Classifier) -> float:
    """The gain of a classifier that reads out a mean; a refusal where it has none."""
    if not isinstance(network.layer, Layer):
        raise NoGain(f"margin needs a network with a gain, and {type(network.layer).__name__} has none.")
    if network.pooling is not Pooling.MEAN:
        raise NoGain(f"margin needs a readout of the mean, but this network pools by {network.pooling.value}.")
    return network.layer.gain().total


def margin_loss(network: Classifier, logits: Tensor, y: Tensor, gain: float | None, rms: float) -> Tensor:
    """Mean over the samples of max(0, 1 - r / rms).

    >>> from noisyrnn.models import Certified
    >>> network = Certified(hidden=4, outputs=4).build(1, 2)
    >>> far = torch.tensor([[1e3, -1e3]])
    >>> margin_loss(network, far, torch.tensor([0]), 1.0, rms=0.1).item()
    0.0
    """
    rows = network.readout.weight
    apart = torch.cdist(rows, rows)[y]
    gaps = logits.gather(1, y.unsqueeze(1)) - logits
    others = torch.nn.functional.one_hot(y, len(rows)).logical_not()
    radius = gaps / ((gain or 1.0) * apart.clamp(min=torch.finfo(rows.dtype).tiny))
    least = radius.masked_fill(~others, torch.inf).amin(1)
    return torch.relu(1 - least / rms).mean()
