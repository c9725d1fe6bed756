r"""One straight loop: batches in random order, noise, cross-entropy, a step; a checkpoint after each epoch.

    minimise  1/N sum_i  w_{y_i} L(y_i, V h_T(x~_i, xi) + c)

A run that was killed at any moment continues from its last checkpoint to the same weights, bit by bit, on one kind of
CPU and with the same number of threads.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from noisyrnn.checkpoint import CheckpointError, save
from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy, attacked, refuse_unfinite, with_range
from noisyrnn.models import Model
from noisyrnn.perturb import Perturbation
from noisyrnn.rnn import Classifier
from noisyrnn.theory import Network
from noisyrnn.train.interruption import held_back
from noisyrnn.train.margin import certified_gain, margin_loss
from noisyrnn.train.objective import Asked, expected, mixed, plain, refuse_depths
from noisyrnn.train.remarks import ENOUGH, Unlearned, remark
from noisyrnn.train.setting import Diverged, Train
from noisyrnn.train.state import Epoch, Position, State


class Moment(NamedTuple):
    """Where training stands, after each batch; epochs and batches count from 1 here."""

    epoch: int
    epochs: int
    batch: int
    batches: int
    loss: float


Progress = Callable[[Moment], None]


def fit(
    network: Classifier,
    split: Split,
    train: Train,
    *,
    seed: int,
    validation: Split | None = None,
    setting: Model | None = None,
    path: Path | None = None,
    every: int | None = None,
    branch: Path | None = None,
    about: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> tuple[Epoch, ...]:
    """Epochs of training; the network holds the last weights (or the best, if ``train.best``), in evaluation mode.

    Parameters
    ----------
    network, split, train
        What is trained, on which samples, and how.
    seed
        The seed of batch order, hidden noise and input noise; a run depends on nothing else.
    validation
        Samples on which each epoch is measured, for ``train.best`` and early stopping.
    setting, about
        What a checkpoint rebuilds its network from, and what else it says of itself.
    path, every
        Where a checkpoint is written after each epoch, after ``every`` batches if given, and on Ctrl-C; if one is there
        already, training continues from it, also to more epochs than it was begun with.
    branch
        Where the state before the latest decay is kept, from which another schedule can continue.
    progress
        Called after each batch.

    Returns
    -------
    tuple of Epoch
        What each epoch gave, those before a resumption included. A training that stays at chance, or whose units no
        longer respond, ends with a warning, ``Unlearned``, that says what to try.

    Examples
    --------
    >>> from noisyrnn.models import Lipschitz
    >>> from noisyrnn.train import fresh
    >>> split = Split(x=torch.randn(8, 5, 1), y=torch.arange(8) % 2)
    >>> network = fresh(Lipschitz(hidden=4), inputs=1, classes=2, seed=0)
    >>> [epoch.epoch for epoch in fit(network, split, Train(epochs=2, batch=4), seed=0)]
    [0, 1]
    """
    _refuse(network, split, train, validation, every)
    state = State(network=network, train=train, seed=seed, setting=setting, about=about or {})
    batches = train.batches(len(split))
    if path is not None and path.exists():
        state.resume(path)
        if state.at.batch >= batches:  # at an epoch's end a file stands at batch 0 of the next
            raise CheckpointError(
                f"{path} stands at batch {state.at.batch} of an epoch that has {batches} here, so it saw other data: "
                "give another path, or remove the file to start again."
            )
    weight = next(network.parameters())
    class_weights = None if train.class_weights is None else torch.tensor(train.class_weights).to(weight)
    noise = None if train.input_noise is None else with_range(train.input_noise, split.x)
    # Refused here and not after an epoch, where a network has no gain.
    gain = None if train.margin is None else certified_gain(network)
    doors = state.doors
    # Ctrl-C and SIGTERM are held back until the batch is done and saved.
    with torch.random.fork_rng(devices=[]), held_back(path is not None) as asked:
        torch.set_rng_state(doors.rest.get_state())
        while state.at.epoch < train.epochs and not state.at.stopped:
            network.train()
            epoch, began, order_state = state.at.epoch, time.perf_counter(), doors.order.get_state()
            order = torch.randperm(len(split), generator=doors.order)
            for group in state.optimiser.param_groups:
                group["lr"] = group["prescribed"] * train.factor(epoch)
            for batch in range(state.at.batch, batches):
                part = _part(split, order[batch * train.batch : (batch + 1) * train.batch])
                y = part.y.to(weight.device)
                loss, logits = _asked(state, _disturb(state, part, noise).to(weight), part, class_weights)
                if train.margin is not None:
                    loss = loss + train.margin.weight * margin_loss(network, logits, y, gain, train.margin.rms)
                height = float(loss.detach())
                if not math.isfinite(height):
                    raise _divergence(epoch, batch, train)
                state.optimiser.zero_grad()
                loss.backward()
                if train.clip is not None:
                    nn.utils.clip_grad_norm_(network.parameters(), train.clip)
                state.optimiser.step()
                now = time.perf_counter()
                state.at = state.at.model_copy(
                    update={
                        "batch": batch + 1,
                        "loss": state.at.loss + height * len(part),
                        "right": state.at.right + int((logits.detach().argmax(dim=1) == y).sum()),
                        "seconds": state.at.seconds + now - began,
                    }
                )
                began = now
                if progress is not None:
                    progress(Moment(epoch + 1, train.epochs, batch + 1, batches, height))
                due = every is not None and (batch + 1) % every == 0
                if path is not None and batch + 1 < batches and (asked or due):
                    save(path, state.checkpoint(inputs=split.x.shape[2], order=order_state))
                    asked.leave()
            _close_epoch(state, split, validation)
            if path is not None:
                # Between epochs the next one has not yet drawn its order.
                end = state.checkpoint(inputs=split.x.shape[2], order=doors.order.get_state())
                # The branch first: a kill between the two is mended by the epoch that is then done again.
                if branch is not None and epoch in train.decay:
                    save(branch, end)
                save(path, end)
            asked.leave()
    if state.best:
        network.load_state_dict(state.best)
    network.eval()
    if said := remark_on(network, split, train, state.at.history):
        warnings.warn(said, Unlearned, stacklevel=2)
    return state.at.history


def remark_on(network: Classifier, split: Split, train: Train, history: tuple[Epoch, ...]) -> str | None:
    """What there is to say of a training that went nowhere, once it had time to go somewhere."""
    if len(history) < ENOUGH:
        return None
    end = history[-1]
    return remark(network, split, loss=end.loss, accuracy=end.accuracy, weights=train.class_weights)


def _part(split: Split, index: Tensor) -> Split:
    lengths = None if split.lengths is None else split.lengths[index]
    return Split(x=split.x[index], y=split.y[index], lengths=lengths)


def _disturb(state: State, part: Split, noise: Perturbation | None) -> Tensor:
    x, adversary = part.x, state.train.adversary
    if noise is not None:
        x = noise(x, state.doors.input)
    if adversary is not None:
        x = attacked(state.network, x, part.y, adversary, state.doors.input, lengths=part.lengths)
    return x


def _asked(state: State, x: Tensor, part: Split, weights: Tensor | None) -> Asked:
    train, doors, y = state.train, state.doors, part.y.to(x.device)
    if train.mixup is not None:
        return mixed(state.network, x, part, train.mixup, weights, hidden=doors.hidden, chance=doors.input)
    if train.expected_loss is not None:
        return expected(state.network, x, y, train.expected_loss, weights, doors.hidden)
    return plain(_logits(state.network, x, part.lengths, doors.hidden, train.dropout), y, weights)


def _logits(network: Classifier, x: Tensor, lengths: Tensor | None, hidden: torch.Generator, dropout: float) -> Tensor:
    call = {} if lengths is None else {"lengths": lengths.to(x.device)}
    if not dropout:
        return network(x, generator=hidden, **call)
    features = network.features(x, generator=hidden, **call)
    kept = (torch.rand(features.shape, generator=hidden) >= dropout).to(features)
    return network.readout(features * kept / (1 - dropout))


def _close_epoch(state: State, split: Split, validation: Split | None) -> None:
    """The record of the epoch, and a position at the beginning of the next."""
    at, train = state.at, state.train
    if not all(bool(torch.isfinite(parameter).all()) for parameter in state.network.parameters()):
        raise _divergence(at.epoch, at.batch - 1, train)
    found = accuracy(state.network, validation) if train.validate_epochs and validation is not None else None
    improved = found is not None and (at.best is None or found > at.best)
    if improved and train.best:
        state.best = {name: tensor.detach().clone() for name, tensor in state.network.state_dict().items()}
    stale = 0 if improved else at.stale + 1
    seen = min(len(split), train.batches(len(split)) * train.batch)
    record = Epoch(
        epoch=at.epoch,
        rate=train.rate(at.epoch),
        loss=at.loss / seen,
        accuracy=100 * at.right / seen,
        validation=found,
        seconds=at.seconds,
    )
    state.at = Position(
        epoch=at.epoch + 1,
        best=found if improved else at.best,
        stale=stale,
        stopped=train.patience is not None and stale >= train.patience,
        history=(*at.history, record),
    )


def _refuse(network: Classifier, split: Split, train: Train, validation: Split | None, every: int | None) -> None:
    if len(split) == 0:
        raise ValueError("There is nothing to train on: the split has no samples.")
    if train.batches(len(split)) == 0:
        raise ValueError(
            f"drop_last=True leaves nothing to train on: {len(split)} samples do not fill a batch of {train.batch}; "
            "choose a smaller batch."
        )
    refuse_unfinite(split.x)
    lowest, highest = int(split.y.min()), int(split.y.max())
    if lowest < 0 or highest >= network.classes:
        raise ValueError(
            f"Classes must be 0 to {network.classes - 1} for this network, got {lowest} to {highest}; number them from "
            "0, or build the network with more classes."
        )
    if train.validate_epochs and (validation is None or len(validation) == 0):
        raise ValueError("validate_epochs=True needs a validation split with samples; give one, or leave it out.")
    if train.class_weights is not None and len(train.class_weights) != network.classes:
        raise ValueError(
            f"class_weights needs one number for each of the {network.classes} classes, got {len(train.class_weights)}."
        )
    refuse_depths(network, train.mixup, split)
    if train.expected_loss is not None:
        Network.of_classifier(network)  # refuses what the theorem is not about
        if split.lengths is not None:
            raise ValueError("expected_loss is about sequences of equal length; leave it out, or cut them to one.")
    if every is not None and every < 1:
        raise ValueError(f"every counts batches between checkpoints and must be at least 1, got {every}.")


def _divergence(epoch: int, batch: int, train: Train) -> Diverged:
    clip = "set clip, for example clip=1" if train.clip is None else f"a smaller clip than {train.clip:g}"
    return Diverged(
        f"Training left the finite numbers in epoch {epoch}, batch {batch}, at rate {train.rate(epoch):g}: "
        f"try a smaller lr, or {clip}."
    )
