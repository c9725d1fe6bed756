r"""What a training that went nowhere says of itself: that it learned nothing, or that its units no longer respond.

nothing learned:    loss >= 0.98 H(y), the loss of always answering with the shares of the classes,
                    and accuracy within three standard errors of always answering with the largest
units saturated:    |a'(W h + u)| < 0.01 max |a'| for 19 of 20 units and steps
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from noisyrnn.data import Split
from noisyrnn.rnn import Classifier, SDECell
from noisyrnn.rnn.reference import scan
from noisyrnn.sde.drift import TanhDrift

ENOUGH = 3
"""Epochs before a training is judged."""
_SAMPLES = 32
_CENTRE, _SPREADS = 3.0, (0.03, 10.0)  # beyond these inputs are called badly scaled
_FLAT, _MOST = 0.01, 0.95


class Unlearned(UserWarning):
    """A training ended, and its network is probably of no use; the message says why, and what to try."""


def remark(
    network: Classifier, split: Split, *, loss: float, accuracy: float, weights: Sequence[float] | None = None
) -> str | None:
    """One sentence on what went wrong and what to try, or None where nothing did.

    Parameters
    ----------
    network, split
        What was trained, and on what.
    loss, accuracy
        Mean cross-entropy and accuracy (percent) of the last epoch on the training samples.
    weights
        Weights of the classes in the loss, if there were any.

    Examples
    --------
    >>> from noisyrnn.models import Lipschitz
    >>> x = 20 + 3 * torch.randn(40, 5, 1, generator=torch.Generator().manual_seed(0))
    >>> split = Split(x=x, y=torch.arange(40) % 2)
    >>> remark(Lipschitz(hidden=4).build(1, 2), split, loss=0.693, accuracy=50.0)
    'It learned nothing: accuracy 50.0 % is chance. Its inputs have mean 19.9 and spread 2.89: scale them ...'
    """
    stuck, flat = _at_chance(split.y, loss, accuracy, weights), saturated(network, split)
    if not stuck and flat < _MOST:
        return None
    centre, spread = _scale(split)
    if stuck:
        what = f"It learned nothing: accuracy {accuracy:.1f} % is chance."
    else:
        what = f"{100 * flat:.0f} % of its units are saturated and hardly respond to their inputs."
    if abs(centre) > _CENTRE * max(spread, 1.0) or not _SPREADS[0] <= spread <= _SPREADS[1]:
        return f"{what} Its inputs have mean {centre:.3g} and spread {spread:.3g}: scale them to mean 0 and spread 1."
    if flat >= _MOST:
        return f"{what} Try a smaller step of training (lr), smaller initial weights, or inputs scaled to spread 1."
    noise = "less noise, " if any(isinstance(c, SDECell) and c.noisy for c in network.modules()) else ""
    return f"{what} Try {noise}another step of training (lr), or more epochs."


def _at_chance(y: Tensor, loss: float, accuracy: float, weights: Sequence[float] | None) -> bool:
    counts = torch.bincount(y).double()
    if weights is None:
        largest, samples = float(counts.max() / counts.sum()), len(y)
        if accuracy / 100 > largest + 3 * math.sqrt(largest * (1 - largest) / samples):
            return False
    else:
        counts = counts * torch.tensor(weights[: len(counts)], dtype=torch.float64)
    shares = counts[counts > 0] / counts.sum()
    guessing = float(-(shares * shares.log()).sum())
    return guessing > 0 and loss >= 0.98 * guessing


def saturated(network: Classifier, split: Split) -> float:
    """Share of units and steps at which the first layer no longer responds; 0 where that cannot be told.

    >>> from noisyrnn.models import Lipschitz
    >>> network = Lipschitz(hidden=4).build(1, 2)
    >>> with torch.no_grad():
    ...     _ = network.layer.cells[0].sde.drift.input.bias.fill_(9.0)
    >>> saturated(network, Split(x=torch.zeros(2, 3, 1), y=torch.arange(2)))
    1.0
    """
    cell = next(iter(getattr(network.layer, "cells", ())), None)
    if not isinstance(cell, SDECell):
        return 0.0
    few = split.x[:_SAMPLES].transpose(0, 1)
    with torch.no_grad():
        weight = next(network.parameters())
        x, built = few.to(weight), cell.built(noisy=False)
        drift = built.sde.drift
        if not isinstance(drift, TanhDrift) or x.numel() == 0 or x.shape[2] != cell.inputs:
            return 0.0
        start = built.start(x.shape[1], x)
        states, _ = scan(built, x, start)
        before = torch.cat([start[0].unsqueeze(0), states[:-1]])
        slopes = drift.activation.slope(drift.preactivation(before, drift.encode(x))).abs()
    return float((slopes < _FLAT * drift.activation.lipschitz).double().mean())


def _scale(split: Split) -> tuple[float, float]:
    """Mean and standard deviation of all valid inputs."""
    x = split.x
    if split.lengths is not None:
        x = x[torch.arange(x.shape[1]) < split.lengths.unsqueeze(1)]
    return float(x.mean()), float(x.std(correction=0))
