r"""The certificate of networks whose whole map is Lipschitz: one forward pass, and a radius at any length.

    r = min over b != a of sqrt(T) (z_a - z_b - slack_b) / (g |w_a - w_b|),       a the predicted class

for a readout of the mean over T valid steps, of a layer with gain g (``rnn.gain``); without the root for a readout of
the last outputs. r / sqrt(T), the certified root of the mean square over the steps, does not shrink with the length.

**Floating point.** The certified predictor is the network in double precision. g counts growth^T, the largest singular
value of the K in use to the power of the length. The slack bounds the rounding of two evaluations, at x and at any
input within r, in l2: what step t adds travels on with the gain like an input (``Cell.rounding``), and comes to at most
the sum of all steps. The radius of the network as it is, in single precision, is given beside it; such a bound is often
larger than the gap, and then it is 0.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from noisyrnn.rnn import Classifier, EqualRows, Layer, NoGain, Pooling
from noisyrnn.rnn.lengths import checked_lengths
from noisyrnn.theory.margin.certificate import SHRINK
from noisyrnn.theory.margin.gain_rounding import Evaluation, evaluated
from noisyrnn.types import Sequence

_PIECE = 2**24  # numbers of a batch's rows that are looked at together


@dataclass(frozen=True, kw_only=True, eq=False)
class GainCertificate:
    """Within which changes of its inputs the network's answer is proved to stay; in units of x.

    ``radius`` is an l2 length over the whole sequence, ``rms`` that length divided by sqrt(steps), ``linf`` a bound on
    every value, ``channel`` on every value of that channel alone; ``single`` is the radius of the network in single
    precision. Everything is 0 where nothing is certified.
    """

    label: Int[Tensor, " batch"]
    radius: Float[Tensor, " batch"]
    rms: Float[Tensor, " batch"]
    linf: Float[Tensor, " batch"]
    channel: Float[Tensor, "batch features"]
    single: Float[Tensor, " batch"]
    steps: Int[Tensor, " batch"]
    gains: Float[Tensor, " features"]

    def within_steps(self, count: int) -> Float[Tensor, " batch"]:
        """Bound on every value where at most ``count`` steps of a sequence are disturbed: spikes, gaps."""
        if count < 1:
            raise ValueError(f"At least 1 step is disturbed, got {count}.")
        share = (self.steps / count).clamp(min=1).sqrt()
        return self.linf * share

    def holds_for(self, bounds: Tensor) -> Bool[Tensor, " batch"]:
        """Whether the answer stays where every value of channel c moves by at most bounds[c]."""
        if bounds.shape != self.gains.shape:
            raise ValueError(f"One bound for each of {len(self.gains)} channels is needed, got {tuple(bounds.shape)}.")
        moved = (self.gains * bounds.to(self.gains)).norm()
        return moved <= self.linf * self.gains.norm()

    def certified_accuracy(self, y: Int[Tensor, " batch"], rms: float) -> float:
        """Share of the samples that are answered rightly and stay so within that RMS disturbance."""
        return float(((self.label == y) & (self.rms >= rms)).double().mean())

    def __str__(self) -> str:
        return (
            f"gain certificate: median l2 radius {float(self.radius.median()):.3g} over the sequence, RMS "
            f"{float(self.rms.median()):.3g}; holds for evaluation in float64 (in float32: median "
            f"{float(self.single.median()):.3g})."
        )


@torch.no_grad()
def gain_certificate(
    network: Classifier, x: Sequence, *, lengths: Tensor | None = None, scale: Tensor | None = None
) -> GainCertificate:
    """r = sqrt(T) (z_a - z_b - slack) / (g |w_a - w_b|) for the predicted class a and the nearest other b.

    Parameters
    ----------
    network
        A classifier whose layer has a gain, with a readout of the mean or of the last outputs. All else is refused.
    x
        Inputs (batch, time, feature).
    lengths
        Valid steps of each sample; a disturbance keeps them.
    scale
        What each channel was divided by before it came here: radii then count in the units from before.

    Returns
    -------
    GainCertificate

    Examples
    --------
    >>> from noisyrnn.models import Certified
    >>> _ = torch.manual_seed(0)
    >>> network = Certified(hidden=8, outputs=4).build(inputs=1, classes=3).eval()
    >>> found = gain_certificate(network, torch.randn(2, 20, 1))
    >>> bool((found.radius > 0).all()), bool(torch.allclose(found.rms, found.radius / 20**0.5))
    (True, True)
    >>> from noisyrnn.models import Lipschitz
    >>> gain_certificate(Lipschitz(hidden=4).build(inputs=1, classes=3), torch.randn(2, 20, 1))
    Traceback (most recent call last):
    noisyrnn.rnn.gain.NoGain: SDECell has no gain that holds for every input and weight; ...
    """
    refuse_unproved(network)
    if x.ndim != 3:
        raise ValueError(f"A certificate takes x of shape (batch, time, feature), got {tuple(x.shape)}.")
    if scale is not None and (scale.shape != x.shape[2:] or not bool((scale > 0).all())):
        raise ValueError(f"scale needs one number above 0 for each of the {x.shape[2]} channels.")
    counts = checked_lengths(lengths, None, batch=len(x), steps=x.shape[1], device=x.device)
    wide = copy.deepcopy(network).double().eval()
    narrow = copy.deepcopy(network).float().eval()
    if not all(bool(weight.isfinite().all()) for weight in wide.state_dict().values()):
        raise NoGain("This network's weights are not finite, so that nothing can be certified.")
    units = sum(wide.layer._cell(0).widths)
    rows = max(1, _PIECE // max(1, x.shape[1] * units))
    pieces = [
        _piece(wide, narrow, x[i : i + rows], None if counts is None else counts[i : i + rows], scale)
        for i in range(0, max(1, len(x)), rows)
    ]
    names = [name for name in GainCertificate.__dataclass_fields__ if name != "gains"]
    joined = {name: torch.cat([getattr(piece, name) for piece in pieces]) for name in names}
    return replace(pieces[0], **joined)


def refuse_unproved(network: Classifier) -> None:
    """Nothing, where the theorem speaks of this network; else what stands in its way."""
    if type(network) is not Classifier:
        raise NoGain(f"A gain certificate is about a plain Classifier, got {type(network).__name__}.")
    if not isinstance(network.layer, Layer):
        raise NoGain(f"{type(network.layer).__name__} has no gain that holds for every input; use CertifiedRNN.")
    if type(network.layer).forward is not Layer.forward:
        raise NoGain(
            f"{type(network.layer).__name__} has a forward pass of its own, of which nobody has proved a gain."
        )
    if network.pooling is Pooling.MEAN_MAX:
        raise NoGain("The largest of the outputs has no certificate here; read out the mean, Pooling.MEAN.")
    if type(network.readout) not in (nn.Linear, EqualRows):
        raise NoGain(f"A gain certificate needs a linear readout, got {type(network.readout).__name__}.")
    for name, module in network.named_modules():
        if module._forward_hooks or module._forward_pre_hooks:
            raise NoGain(f"A hook on {name or 'the network'} may change what it computes; remove it to certify.")


def _piece(
    wide: Classifier, narrow: Classifier, x: Tensor, lengths: Tensor | None, scale: Tensor | None
) -> GainCertificate:
    steps = torch.full((len(x),), x.shape[1]) if lengths is None else lengths.cpu()
    at_x = evaluated(wide, x.double(), lengths)
    label = at_x.logits.argmax(1)
    gains = at_x.gain.channels if scale is None else at_x.gain.channels / scale.double()
    gap = _gap(at_x, label)
    single_run = evaluated(narrow, x.float(), lengths)
    single = _gap(single_run, single_run.logits.argmax(1))
    mean = wide.pooling is Pooling.MEAN
    root = steps.double().sqrt()
    length = root if mean else torch.ones_like(root)  # what a change of length 1 shrinks by on its way to the features
    radius = gap * length / gains.max()
    linf = radius * gains.max() / (root.clamp(min=1) * gains.norm())
    return GainCertificate(
        label=label,
        radius=radius,
        rms=radius / root.clamp(min=1),
        linf=linf,
        channel=(radius * gains.max() / root.clamp(min=1)).unsqueeze(1) / gains,
        single=single * length / gains.max(),
        steps=steps,
        gains=gains,
    )


def _gap(found: Evaluation, label: Tensor) -> Float[Tensor, " batch"]:
    """(z_a - z_b - slack_b) / (growth^T |w_a - w_b|), the least over b: how far the features may move, over g."""
    apart = torch.cdist(found.weight, found.weight)[label]
    gaps = found.logits.gather(1, label.unsqueeze(1)) - found.logits
    room = (gaps - apart * found.feature_error.unsqueeze(1) - 2 * found.readout_error.unsqueeze(1)).double()
    others = torch.ones_like(room, dtype=torch.bool).scatter_(1, label.unsqueeze(1), False)
    least = (room / apart).masked_fill(~others, torch.inf).amin(1) / found.growth
    # No valid step: the answer does not depend on the inputs, and no radius says more than 0 would.
    sure = least.isfinite() & (least > 0) & (found.steps > 0)
    return torch.where(sure, least * (1 - SHRINK), torch.zeros_like(least))
