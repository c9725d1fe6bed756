r"""Network, data, perturbation or attack -> accuracy in percent.

    accuracy = 100 / N sum_i [argmax_k logits_k(x~_i) = y_i],   x~ clean, perturbed, or attacked

Networks are measured without their noise. A perturbation draws from a stream of random numbers whose address names the
data, the perturbation and the seed, never the model: every model sees the same x~, except under attacks, which search
near x for what the model gets wrong (``noisyrnn.attack``: FGSM in one step, PGD in many). Samples are served in order,
so the size of a batch does not change what is drawn.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from noisyrnn.attack import Adversary, Attack, Norm
from noisyrnn.data import Split
from noisyrnn.perturb import Perturbation
from noisyrnn.perturb.fault import Ranged
from noisyrnn.rnn import Classifier, NoGain
from noisyrnn.rnn.mode import evaluating
from noisyrnn.setting import Setting
from noisyrnn.theory.margin.gain_radius import gain_certificate

_BATCH = 1000  # large enough to keep a core busy, small enough for 784 instants with gradients


class Clean(Setting):
    """x~ = x.

    >>> Clean().level
    0.0
    """

    kind: Literal["clean"] = "clean"

    @property
    def level(self) -> float:
        return 0.0


class Proof(Setting):
    """Every x~ within the radius: a sample counts where its answer is right and proved to stay (gain certificate).

    The radius is the root of the mean over the steps of |x~ - x|^2; with ``whole`` it is the l2 length over all steps.

    >>> Proof(radius=0.05).level
    0.05
    """

    kind: Literal["certified"] = "certified"
    radius: float = Field(gt=0, allow_inf_nan=False)
    whole: bool = False

    @property
    def level(self) -> float:
        return self.radius


Measure = Annotated[Clean | Perturbation | Attack | Proof, Field(discriminator="kind")]
"""What is done to the data before the network sees them; in JSON the field ``kind`` tells which."""


def name_of(measure: Measure) -> str:
    """The name of a measure in recorded results and tables; clipping to bounds and the l2 norm are said.

    >>> from noisyrnn.attack import FGSM
    >>> from noisyrnn.perturb import SaltAndPepper
    >>> name_of(SaltAndPepper(probability=0.1)), name_of(FGSM(radius=0.1, bounds=(0, 1)))
    ('salt-pepper', 'fgsm clipped')
    """
    name = {"salt-and-pepper": "salt-pepper"}.get(measure.kind, measure.kind)
    if getattr(measure, "norm", None) is Norm.L2 or (isinstance(measure, Proof) and measure.whole):
        name += " l2"
    return name if getattr(measure, "bounds", None) is None else f"{name} clipped"


def refuse_unfinite(x: Tensor, name: str = "x") -> None:
    """Nothing, if every number of x is finite; else one sentence with the position of the first that is not.

    >>> refuse_unfinite(torch.tensor([[[0.0], [torch.nan]]]))
    Traceback (most recent call last):
    ValueError: x[0, 1, 0] is nan: fill or remove what is missing first.
    """
    finite = torch.isfinite(x)
    if not bool(finite.all()):
        position = tuple((~finite).nonzero()[0].tolist())
        raise ValueError(
            f"{name}[{', '.join(map(str, position))}] is {float(x[position])}: fill or remove what is missing first."
        )


def logits(network: nn.Module, x: Tensor, *, lengths: Tensor | None = None, batch: int = _BATCH) -> Tensor:
    """logits (samples, classes) without noise and without gradients, ``batch`` samples at a time.

    >>> from noisyrnn.models import Lipschitz
    >>> logits(Lipschitz(hidden=4).build(inputs=1, classes=3), torch.zeros(5, 7, 1), batch=2).shape
    torch.Size([5, 3])
    """
    refuse_unfinite(x)
    if len(x) == 0:
        raise ValueError("There are no samples to evaluate: x has length 0; give at least one.")
    weight = next(network.parameters())
    with evaluating(network), torch.inference_mode():
        pieces = [
            network(x[piece].to(weight), **_call(lengths, piece, weight.device)).cpu()
            for piece in _pieces(len(x), batch)
        ]
    return torch.cat(pieces)


def predictions(network: nn.Module, x: Tensor, *, lengths: Tensor | None = None, batch: int = _BATCH) -> Tensor:
    """argmax of the logits: one class per sample."""
    return logits(network, x, lengths=lengths, batch=batch).argmax(dim=1)


def accuracy(
    network: nn.Module,
    split: Split,
    measure: Measure | None = None,
    generator: torch.Generator | None = None,
    *,
    batch: int = _BATCH,
) -> float:
    """Accuracy in percent on clean, perturbed or attacked data.

    Parameters
    ----------
    network, split
        What is measured, in evaluation mode meanwhile, and on which samples.
    measure
        A perturbation, an attack, or Clean() (the default).
    generator
        Random numbers of the perturbation, or of an attack that starts at random.
    batch
        Samples at a time; it changes nothing but memory.

    Examples
    --------
    >>> from noisyrnn.models import Lipschitz
    >>> from noisyrnn.perturb import White
    >>> from noisyrnn.randomness import stream
    >>> split = Split(x=torch.zeros(4, 3, 1), y=torch.zeros(4, dtype=torch.int64))
    >>> accuracy(Lipschitz(hidden=4).build(1, 2), split, White(sigma=0.1), stream("white", 0)) in (0, 25, 50, 75, 100)
    True
    """
    if measure is None or isinstance(measure, Clean):
        right = predictions(network, split.x, lengths=split.lengths, batch=batch) == split.y
        return 100 * float(right.double().mean())
    refuse_unfinite(split.x)
    if isinstance(measure, Proof):
        return 100 * proved_share(network, split, measure)
    attack = measure if isinstance(measure, Adversary) else None
    fault = None if isinstance(measure, Adversary) else with_range(measure, split.x)
    right_count = 0
    for piece in _pieces(len(split), batch):
        x, y = split.x[piece], split.y[piece]
        lengths = None if split.lengths is None else split.lengths[piece]
        if attack is not None:
            x = attacked(network, x, y, attack, generator, lengths=lengths)
        elif fault is not None and generator is not None:
            x = fault(x, generator)
        else:
            raise ValueError(f"The perturbation {measure.kind} draws random numbers; give a generator.")
        right_count += int((predictions(network, x, lengths=lengths, batch=batch) == y).sum())
    return 100 * right_count / len(split)


def proved_share(network: nn.Module, split: Split, measure: Proof) -> float:
    """Share of the samples that are answered rightly and certified to the radius; refused where nothing is proved."""
    if not isinstance(network, Classifier):
        raise NoGain(f"A certificate is about a Classifier, got {type(network).__name__}.")
    found = gain_certificate(network, split.x, lengths=split.lengths)
    radius = found.radius if measure.whole else found.rms
    return float(((found.label == split.y) & (radius >= measure.radius)).double().mean())


def attacked(
    network: nn.Module,
    x: Tensor,
    y: Tensor,
    attack: Attack,
    generator: torch.Generator | None,
    *,
    lengths: Tensor | None = None,
) -> Tensor:
    """x~ that the attack finds against the network without its noise."""
    weight = next(network.parameters())
    with evaluating(network):
        found = attack(network, x.to(weight), y.to(weight.device), generator,
                       lengths=None if lengths is None else lengths.to(weight.device))  # fmt: skip
    return found.to(x)


def _call(lengths: Tensor | None, piece: slice, device: torch.device) -> dict[str, Any]:
    return {} if lengths is None else {"lengths": lengths[piece].to(device)}


def _pieces(samples: int, batch: int) -> list[slice]:
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}.")
    return [slice(first, first + batch) for first in range(0, samples, batch)]


def with_range(measure: Perturbation, x: Tensor) -> Perturbation:
    """The same perturbation; one that needs the range of the data gets that of all samples, not of each batch."""
    if not isinstance(measure, Ranged):
        return measure
    low = float(x.min()) if measure.low is None else measure.low
    high = float(x.max()) if measure.high is None else measure.high
    return measure if low == high else measure.model_copy(update={"low": low, "high": high})
