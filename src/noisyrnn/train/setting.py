"""How a network is trained, as a value; and the one way in which training can fail."""

from __future__ import annotations

import math
from typing import Annotated, TypeVar

from pydantic import Field, model_validator

from noisyrnn.attack import Attack
from noisyrnn.models import Optimiser
from noisyrnn.perturb import Perturbation
from noisyrnn.setting import Added, Setting
from noisyrnn.train.objective import ExpectedLoss, FeatureMixup

Positive = Annotated[float, Field(gt=0)]
LONGEST = 100_000
"""Epochs of a training."""
_T = TypeVar("_T", bound="Train")


class Margin(Setting):
    """weight x mean of max(0, 1 - r / rms) beside the cross entropy, r the certified RMS radius of the true class.

    r is negative where the answer is wrong. It is the radius of ``theory.gain_certificate`` without its slack for
    rounding.
    """

    rms: Positive = 0.1
    weight: Positive = 1.0


class Diverged(ValueError):
    """Training left the finite numbers; the message says when, and what to try."""


class Train(Setting):
    """How a network is trained; the defaults are the noisy RNN's, with decay and all options left out.

    ``decay`` {e: factor} multiplies the rate after epoch e, counted from 0, as the authors' code does: with {90: 0.1},
    91 epochs run at the full rate. ``drop_last`` leaves out the last samples of an epoch that do not fill a batch: a
    step from few of them can end the training of RMSprop badly. ``input_noise`` and ``adversary`` disturb the inputs of
    each batch; ``dropout`` acts on the last state, ``mixup`` mixes samples on their way through the network, and
    ``expected_loss`` puts the regulariser of Theorem 1 in the place of hidden noise (``train.objective``).
    ``one_cycle`` raises the rate from lr / 25 to lr over the first 30 % of the epochs and lets it fall to nearly
    nothing along a cosine. ``margin`` asks for certified radii, of networks that have them. ``best`` keeps the weights
    of the best validation accuracy, ``patience`` stops after that many epochs without a better one; both are off in the
    paper's protocol.

    >>> [round(Train(lr=0.1, epochs=100, decay={90: 0.1}).rate(epoch), 3) for epoch in (0, 90, 91)]
    [0.1, 0.1, 0.01]
    """

    optimiser: Optimiser = Optimiser.ADAM
    lr: Positive = 1e-3
    lr_orthogonal: Positive | None = None
    batch: int = Field(default=128, ge=1, le=2**24)
    drop_last: Annotated[bool, Added("0.2")] = False
    epochs: int = Field(default=100, ge=1, le=LONGEST)
    decay: dict[Annotated[int, Field(ge=0)], Positive] = Field(default={})
    clip: Positive | None = None
    weight_decay: float = Field(default=0.0, ge=0)
    class_weights: tuple[Annotated[float, Field(ge=0)], ...] | None = None
    input_noise: Perturbation | None = None
    adversary: Attack | None = None
    dropout: float = Field(default=0.0, ge=0, lt=1)
    validate_epochs: bool = False
    one_cycle: Annotated[bool, Added("0.2")] = False
    margin: Annotated[Margin | None, Added("0.2")] = None
    best: bool = False
    patience: int | None = Field(default=None, ge=1, le=LONGEST)
    mixup: Annotated[FeatureMixup | None, Added("0.2")] = None
    expected_loss: Annotated[ExpectedLoss | None, Added("0.2")] = None

    @model_validator(mode="after")
    def _agree(self: _T) -> _T:
        late = [epoch for epoch in self.decay if epoch >= self.epochs]
        if late:
            raise ValueError(
                f"decay after epoch {late[0]} never happens in {self.epochs} epochs (0 to {self.epochs - 1}); "
                "choose an earlier one."
            )
        if self.one_cycle and self.decay:
            raise ValueError("one_cycle is a schedule of its own; leave decay out with it.")
        if (self.best or self.patience) and not self.validate_epochs:
            raise ValueError("best and patience look at the validation split; set validate_epochs=True with them.")
        if (self.mixup is not None) + (self.expected_loss is not None) + (self.dropout > 0) > 1:
            raise ValueError("mixup, expected_loss and dropout are alternatives; choose one of them.")
        if self.margin is not None and (self.mixup is not None or self.expected_loss is not None):
            raise ValueError("margin asks about single samples as they are; leave mixup and expected_loss out with it.")
        return self

    def batches(self, samples: int) -> int:
        """Steps in an epoch.

        >>> Train(batch=128).batches(300), Train(batch=128, drop_last=True).batches(300)
        (3, 2)
        """
        return samples // self.batch if self.drop_last else -(-samples // self.batch)

    def factor(self, epoch: int) -> float:
        """Product of all decays before an epoch; with one cycle, the share of the highest rate.

        >>> [round(Train(epochs=100, one_cycle=True).factor(epoch), 3) for epoch in (0, 30, 65, 99)]
        [0.04, 1.0, 0.5, 0.001]
        """
        if self.one_cycle:
            top = max(1, round(0.3 * self.epochs))
            if epoch < top:
                return 0.04 + 0.96 * epoch / top
            return 0.5 * (1 + math.cos(math.pi * (epoch - top) / max(1, self.epochs - top)))
        return math.prod((factor for after, factor in sorted(self.decay.items()) if after < epoch), start=1.0)

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 0."""
        return self.lr * self.factor(epoch)

    def shortened(self, epochs: int) -> Train:
        """The same over fewer or more epochs, with decays at the same share of them and felt in one epoch at least.

        >>> Train(decay={90: 0.1}).shortened(30).decay, Train(decay={90: 0.1}).shortened(5).decay
        ({27: 0.1}, {3: 0.1})
        """
        moved = {max(0, min(epochs - 2, after * epochs // self.epochs)): factor for after, factor in self.decay.items()}
        return type(self)(**{**self.model_dump(), "epochs": epochs, "decay": moved if epochs > 1 else {}})
