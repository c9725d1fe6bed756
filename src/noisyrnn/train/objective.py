r"""What one batch asks the network to lower: cross-entropy, on mixed samples, or what noise does to it on average.

    plain               mean_i  w_{y_i} L(y_i, logits_i)
    feature mixup       mean_i  lam L(y_i, logits_i) + (1 - lam) L(y_{p(i)}, logits_i)
    expected loss       mean_i  l_i + eps^2 / 2 (Q_i + R_i)                                (Theorem 1, without noise)

Noisy feature mixup (Lim, Erichson, Utrera, Xu, Mahoney 2022) mixes two samples at a random depth of the network and
disturbs the mixture there. A recurrent network has a depth in time, too: here a mixture begins at an input t. Up to t
both sequences run by themselves; then their states are mixed and disturbed, and the mixed rest of the inputs is read.
t = 0 is mixup of inputs, and at the end it is mixup of the features that are read out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from noisyrnn.data import Split
from noisyrnn.rnn import Classifier, Pooling
from noisyrnn.sde import fresh_key
from noisyrnn.setting import Added, Setting
from noisyrnn.theory import Network, expected_loss_by_differences, explicit_loss

_E = TypeVar("_E", bound="ExpectedLoss")


class Depth(StrEnum):
    """Where two samples are mixed: their inputs, their states at a random input, or the features that are read out."""

    INPUT = "input"
    STATE = "state"
    FEATURES = "features"


class FeatureMixup(Setting):
    """x <- m (lam x + (1 - lam) x') + a at a random depth; lam uniform, strengths of m and a random for each batch.

    a = ``additive`` b xi and m = 1 + ``multiplicative`` b' u, with b, b' ~ Beta(2, 5) one for each batch, xi ~ N(0, 1)
    and u uniform in [-1, 1) for each number; the defaults are the authors'.

    >>> FeatureMixup(depths=("state",)).depths
    (<Depth.STATE: 'state'>,)
    """

    depths: tuple[Depth, ...] = Field(default=tuple(Depth), min_length=1)
    additive: float = Field(default=0.4, ge=0)
    multiplicative: float = Field(default=0.2, ge=0)

    def mixed(self, x: Tensor, share: Tensor, order: Tensor, generator: torch.Generator) -> Tensor:
        """The disturbed mixture of x, samples first, with x in another order."""
        both = share.to(x) * x + (1 - share.to(x)) * x[order]
        b, c = _beta_2_5(generator), _beta_2_5(generator)
        xi = torch.randn(x.shape, generator=generator)
        u = 2 * torch.rand(x.shape, generator=generator) - 1
        return both * (1 + self.multiplicative * c * u).to(x) + (self.additive * b * xi).to(x)


class ExpectedLoss(Setting):
    """l + eps^2 / 2 (Q + R): what training with the network's own noise lowers on average, without the noise.

    Q and R are estimated by random probes that run beside the network (``theory.probe``); ``Q=False`` leaves Q out, as
    the paper's analysis does. With a ``difference`` Q + R comes from central differences along paths of the network's
    own noise, of that size (``theory.expected_loss_by_differences``): three plain passes, by the kernel where it is.

    >>> ExpectedLoss(difference=0.25).probes
    1
    """

    epsilon: float = Field(default=1.0, ge=0)
    Q: bool = True
    probes: int = Field(default=1, ge=1, le=1000)
    difference: Annotated[float | None, Field(gt=0, allow_inf_nan=False), Added("0.2")] = None

    @model_validator(mode="after")
    def _whole(self: _E) -> _E:
        if self.difference is not None and not self.Q:
            raise ValueError("Differences do not tell Q and R apart: leave Q=False out, or use probes.")
        return self


class Asked(NamedTuple):
    """The loss to lower, and logits by which a batch is counted."""

    loss: Tensor
    logits: Tensor


def plain(logits: Tensor, y: Tensor, weights: Tensor | None) -> Asked:
    """Cross-entropy, classes weighted."""
    return Asked(nn.functional.cross_entropy(logits, y, weight=weights), logits)


def mixed(
    network: Classifier, x: Tensor, part: Split, mixup: FeatureMixup, weights: Tensor | None, *,
    hidden: torch.Generator, chance: torch.Generator,
) -> Asked:  # fmt: skip
    """Cross-entropy of a batch whose samples are mixed at a random depth."""
    y, lengths = part.y.to(x.device), part.lengths
    depth = mixup.depths[int(torch.randint(len(mixup.depths), (), generator=chance))]
    share, order = torch.rand((), generator=chance), torch.randperm(len(x), generator=chance)
    call: dict[str, Any] = {} if lengths is None else {"lengths": lengths.to(x.device)}
    if depth is Depth.INPUT:
        logits = network(mixup.mixed(x, share, order, chance), generator=hidden, **call)
    elif depth is Depth.FEATURES:
        logits = network.readout(mixup.mixed(network.features(x, generator=hidden, **call), share, order, chance))
    else:
        logits = _mixed_on_the_way(network, x, mixup, share, order, hidden=hidden, chance=chance)
    one, other = (nn.functional.cross_entropy(logits, classes, weight=weights) for classes in (y, y[order]))
    return Asked(share.to(one) * one + (1 - share.to(one)) * other, logits)


def expected(
    network: Classifier, x: Tensor, y: Tensor, rule: ExpectedLoss, weights: Tensor | None, generator: torch.Generator
) -> Asked:
    """The expected loss of the network under its own noise, to second order."""
    # The released noise has a mean: about that, and not about the noise-free network, the expansion is good.
    formulas = Network.of_classifier(network).centred()
    loss, epsilon = formulas.cross_entropy(y), rule.epsilon
    if rule.difference is None:
        losses = explicit_loss(formulas, x, loss, epsilon=epsilon, Q=rule.Q, generator=generator, probes=rule.probes)
    else:
        keys = [fresh_key(generator) for _ in range(rule.probes)]
        size = rule.difference
        paths = [expected_loss_by_differences(formulas, x, loss, key=key, size=size, epsilon=epsilon) for key in keys]
        losses = torch.stack(paths).mean(0)
    mean = losses.mean() if weights is None else (losses * weights[y]).sum() / weights[y].sum()
    with torch.no_grad():
        return Asked(mean, network(x, noise=False))


def refuse_depths(network: Classifier, mixup: FeatureMixup | None, split: Split) -> None:
    """Nothing, if samples can be mixed where the setting says; else one sentence."""
    if mixup is None or mixup.depths == (Depth.FEATURES,):
        return
    if split.lengths is not None:
        raise ValueError("Sequences of unequal length can be mixed as features only: set mixup depths to features.")
    if Depth.STATE not in mixup.depths:
        return
    if network.pooling is not Pooling.LAST or getattr(network.layer, "directions", 1) > 1 or split.x.shape[1] < 2:
        raise ValueError(
            "States are mixed on the way through sequences of 2 inputs or more, in a network of one direction that "
            "reads out its last state: set mixup depths to input and features."
        )


def _mixed_on_the_way(
    network: Classifier, x: Tensor, mixup: FeatureMixup, share: Tensor, order: Tensor, *,
    hidden: torch.Generator, chance: torch.Generator,
) -> Tensor:  # fmt: skip
    at = int(torch.randint(1, x.shape[1], (), generator=chance))
    states = network.states(x[:, :at], generator=hidden)
    several = states if isinstance(states, tuple) else (states,)
    # States have samples on their second axis, as in torch.
    turned = [mixup.mixed(state.transpose(0, 1), share, order, chance).transpose(0, 1) for state in several]
    start = tuple(turned) if isinstance(states, tuple) else turned[0]
    rest = share.to(x) * x[:, at:] + (1 - share.to(x)) * x[order, at:]
    return network.readout(network.layer.last(network.states(rest, h_0=start, generator=hidden)))


def _beta_2_5(generator: torch.Generator) -> Tensor:
    """Beta(2, 5): the second smallest of six uniform numbers."""
    return torch.rand(6, generator=generator).sort().values[1]
