r"""A network with a gain, evaluated in its own precision, and what rounding can have done to the answer.

    e_layer(x) <= gain growth^T e_below(x) + growth^T sum_t |error of step t|        (l2 over all steps)

Steps err by at most u (terms) (|K|_F |inputs of the step| + |b|), u the unit roundoff. At another input, the inputs of
each step are longer by at most the change of the whole: its error is bounded from the evaluation at x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float, Int
from torch import Tensor

from noisyrnn.rnn import Classifier, Gain, Layer, Pooling
from noisyrnn.rnn.lengths import reversed_in_time, zero_beyond
from noisyrnn.rnn.pooling import mean_over_time


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Logits and all that a radius is made from; errors are bounds for x and the nearest other answer together."""

    logits: Float[Tensor, "batch classes"]
    weight: Float[Tensor, "classes features"]
    gain: Gain
    growth: Float[Tensor, " batch"]
    steps: Int[Tensor, " batch"]
    feature_error: Float[Tensor, " batch"]
    readout_error: Float[Tensor, " batch"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequenced:
    """Outputs (time, batch, outputs), the layer's gain, the outputs' error in l2, and how it grows with the inputs."""

    outputs: Tensor
    gain: Gain
    error: Float[Tensor, " batch"]
    slope: Float[Tensor, " batch"]


def evaluated(network: Classifier, x: Tensor, lengths: Tensor | None) -> Evaluation:
    """The network at x (batch, time, feature)."""
    seen = sequenced(network.layer, zero_beyond(x.transpose(0, 1), lengths), lengths)
    count = torch.full((len(x),), x.shape[1]) if lengths is None else lengths.cpu()
    root = count.double().clamp(min=1).sqrt()
    unit = torch.finfo(x.dtype).eps
    outputs = zero_beyond(seen.outputs, lengths)
    if network.pooling is Pooling.MEAN:
        features, shrink = mean_over_time(outputs, lengths), root
        # A sum of T numbers and a division, in any order.
        pooling = (count + 2) * unit * outputs.double().norm(dim=-1).sum(0) / count.clamp(min=1)
    else:
        last = (count - 1).clamp(min=0).reshape(1, -1, 1).to(outputs.device)
        forward = outputs.shape[-1] // network.layer.directions
        ends = outputs.gather(0, last.expand(1, -1, outputs.shape[-1])).squeeze(0)
        # The backward direction ends at the first step.
        features = ends if network.layer.directions == 1 else torch.cat((ends[:, :forward], outputs[0, :, forward:]), 1)
        shrink, pooling = torch.ones_like(root), torch.zeros_like(root)
    logits, rows = network.readout(features), network.readout.weight.double()
    apart = torch.cdist(rows, rows)
    best = logits.double().amax(1, keepdim=True)
    nearest = ((best - logits.double()) / apart[logits.argmax(1)]).nan_to_num(posinf=0.0).amax(1)
    # How long a change of the inputs, times the gain, can be before any answer is reached.
    reach = nearest * shrink
    error = (2 * seen.error + seen.slope * reach) / shrink + 2 * pooling + (count + 2) * unit * reach / shrink
    size = features.double().norm(dim=1)
    bias = float(network.readout.bias.double().norm())
    terms = (features.shape[1] + 4) * unit
    readout = terms * (2 * bias + float(rows.norm(dim=1).max()) * (2 * size + reach / shrink))
    return Evaluation(
        logits=logits.double(),
        weight=rows,
        gain=seen.gain,
        growth=seen.gain.over(count),
        steps=count,
        feature_error=error,
        readout_error=readout,
    )


def sequenced(layer: Layer, x: Tensor, lengths: Tensor | None) -> Sequenced:
    """The layer's outputs for x (time, batch, feature), with bounds of their rounding."""
    count = torch.full((x.shape[1],), len(x)) if lengths is None else lengths.cpu()
    error = slope = torch.zeros(x.shape[1], dtype=torch.float64)
    layers: list[Gain] = []
    for number in range(layer.num_layers):
        shown, gains, own, slopes = [], [], [], []
        for direction in range(layer.directions):
            cell = layer._cell(number * layer.directions + direction)
            found = cell.rounding(reversed_in_time(x, lengths) if direction else x, lengths)
            gains.append(found.gain)
            growth = gains[-1].over(count)
            own.append(growth * found.error)
            slopes.append(growth * growth * found.slope * count)
            shown.append(reversed_in_time(found.outputs, lengths) if direction else found.outputs)
        gain = gains[0] if len(gains) == 1 else gains[0].beside(gains[1])
        layers.append(gain)
        carried = gain.total * gain.over(count) if number else torch.zeros_like(error)
        error = carried * error + torch.stack(own).norm(dim=0)
        slope = carried * slope + torch.stack(slopes).norm(dim=0)
        x = zero_beyond(shown[0] if len(shown) == 1 else torch.cat(shown, dim=-1), lengths)
    return Sequenced(outputs=x, gain=reduce(lambda below, above: above.after(below), layers), error=error, slope=slope)
