r"""Training by a number of steps: AdamW, one cycle of the rate, faults drawn anew for each batch, guarded steps.

    rate: up to lr in the first ``warm_up`` of the steps, then down by a cosine (Smith 2018);
    loss: cross-entropy with smoothed labels, weighted by sample;
    batch: a mixture of faults, then white noise, on the fly; filled across the ends of epochs

For short trainings of classifiers on small sets; :func:`noisyrnn.train.fit` is the paper's loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from noisyrnn.perturb.mixture import FaultMixture
from noisyrnn.randomness import Doors, doors
from noisyrnn.setting import Setting
from noisyrnn.train.guard import GuardedStep
from noisyrnn.train.setting import Diverged

Positive = Annotated[float, Field(gt=0)]
_STUCK = 0.95  # of log(classes): a training that ends there has learned nothing


class OneCycle(Setting):
    """How a classifier is trained on a small set.

    >>> OneCycle(steps=1200).steps
    1200
    """

    steps: int = Field(default=3000, ge=1, le=10**8)
    batch: int = Field(default=32, ge=1, le=2**20)
    lr: Positive = 2e-3
    warm_up: float = Field(default=0.15, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    label_smoothing: float = Field(default=0.05, ge=0, lt=1)
    clip: Positive | None = 1.0
    faults: FaultMixture | None = FaultMixture()
    input_noise: float = Field(default=0.0, ge=0)
    """Standard deviation of white noise on the inputs, after the faults."""


class Reached(NamedTuple):
    """Where training stands at the end of an epoch, counted from 1."""

    epoch: int
    epochs: int
    steps: int
    loss: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Samples:
    """What is trained on: x (batch, time, feature), classes y, lengths, step sizes and weights where they differ."""

    x: Tensor
    y: Tensor
    lengths: Tensor | None = None
    dt: Tensor | None = None
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def part(self, index: Tensor) -> Samples:
        """The samples of these indices."""
        return self._each(lambda value: value[index])

    def to(self, device: torch.device) -> Samples:
        """The same on a device."""
        return self._each(lambda value: value.to(device))

    def _each(self, made: Callable[[Tensor], Tensor]) -> Samples:
        parts: dict[str, Any] = {name: None if one is None else made(one) for name, one in vars(self).items()}
        return Samples(**parts)

    def call(self) -> dict[str, Any]:
        """What a network is told beside x."""
        return {name: value for name, value in (("lengths", self.lengths), ("dt", self.dt)) if value is not None}


EndOfEpoch = Callable[[Reached], bool]
"""Called after each epoch; True ends the training."""


def fit_one_cycle(
    network: nn.Module,
    samples: Samples,
    setting: OneCycle,
    *,
    seed: int,
    end_of_epoch: EndOfEpoch | None = None,
    classes: int | None = None,
) -> int:
    """The network trained, in evaluation mode; returns how many steps were left out by the guard.

    With ``classes`` it is tried once more, at a third of the rate, where the loss ends near that of a guess.

    Examples
    --------
    >>> from noisyrnn.models import Lipschitz
    >>> network = Lipschitz(hidden=4).build(inputs=1, classes=2)
    >>> samples = Samples(x=torch.randn(8, 5, 1), y=torch.arange(8) % 2)
    >>> fit_one_cycle(network, samples, OneCycle(steps=3), seed=0)
    0
    """
    begun = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    try:
        loss, skipped = _cycle(network, samples, setting, seed, end_of_epoch)
        stuck = classes is not None and not loss < _STUCK * math.log(classes)
    except Diverged:
        if classes is None:
            raise
        stuck, skipped = True, 0
    if stuck:
        network.load_state_dict(begun)
        slower = setting.model_copy(update={"lr": setting.lr / 3})
        skipped += _cycle(network, samples, slower, seed, end_of_epoch)[1]
    return skipped


def _cycle(
    network: nn.Module, samples: Samples, setting: OneCycle, seed: int, end_of_epoch: EndOfEpoch | None
) -> tuple[float, int]:
    """Mean loss of the last epoch, and the number of steps left out."""
    weight, own = next(network.parameters()), doors(seed)
    samples = samples.to(weight.device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=setting.lr, weight_decay=setting.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=setting.lr, total_steps=max(2, setting.steps), pct_start=setting.warm_up
    )
    step = GuardedStep(optimiser, network.parameters(), clip=setting.clip)
    length = len(samples) / setting.batch
    epochs = max(1, math.ceil(setting.steps / length))
    began, total, counted, epoch, last = time.perf_counter(), 0.0, 0, 1, math.inf
    order = _endless(len(samples), setting.batch, own.order)
    network.train()
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(own.rest.get_state())
        for done in range(1, setting.steps + 1):
            part = samples.part(next(order).to(weight.device))
            loss = _loss(network, part, setting, own)
            if step(loss):
                total, counted = total + float(loss.detach()), counted + 1
            schedule.step()
            if done >= min(setting.steps, math.ceil(epoch * length - 1e-9)):
                last = total / counted if counted else math.inf
                reached = Reached(epoch, epochs, done, last, time.perf_counter() - began)
                total, counted, epoch = 0.0, 0, int(done / length + 1e-9) + 1
                if end_of_epoch is not None:
                    network.eval()
                    ended = end_of_epoch(reached)
                    network.train()
                    if ended:
                        break
    network.eval()
    return last, step.skipped


def _endless(samples: int, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches without end: a new order when one is used up, and a batch may take from both."""
    waiting = torch.empty(0, dtype=torch.int64)
    while True:
        while len(waiting) < batch:
            waiting = torch.cat([waiting, torch.randperm(samples, generator=generator)])
        yield waiting[:batch]
        waiting = waiting[batch:]


def _loss(network: nn.Module, part: Samples, setting: OneCycle, own: Doors) -> Tensor:
    x = part.x
    if setting.faults is not None:
        x = setting.faults(x, own.input, lengths=part.lengths)
    if setting.input_noise:
        x = x + setting.input_noise * torch.randn(x.shape, generator=own.input).to(x)
    logits = network(x, generator=own.hidden, **part.call())
    losses = nn.functional.cross_entropy(logits, part.y, reduction="none", label_smoothing=setting.label_smoothing)
    return losses.mean() if part.weights is None else (losses * part.weights).mean()
