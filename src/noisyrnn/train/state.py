"""Everything that a run of training is made of at one moment, there and back through a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor, nn

from noisyrnn.checkpoint import Checkpoint, CheckpointError, Record, load, restore
from noisyrnn.models import ExpRNN, Model, Optimiser
from noisyrnn.rnn import Classifier
from noisyrnn.setting import Setting
from noisyrnn.train.randomness import Doors, doors
from noisyrnn.train.setting import Train


class Epoch(Setting):
    """What one epoch gave: mean loss and accuracy (percent) on the training batches as they came, and its seconds."""

    epoch: int
    rate: float
    loss: float
    accuracy: float
    validation: float | None = None
    seconds: float


class Position(Setting):
    """What is done: whole epochs, batches of the one under way, and sums over these batches."""

    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    right: int = 0
    seconds: float = 0.0
    best: float | None = None
    stale: int = 0
    stopped: bool = False
    history: tuple[Epoch, ...] = ()


@dataclass(kw_only=True)
class State:
    """A network under training: its optimiser, its generators, its position, and the best weights so far."""

    network: Classifier
    train: Train
    seed: int
    setting: Model | None = None
    about: dict[str, Any] = field(default_factory=dict)
    at: Position = field(default_factory=Position)
    best: dict[str, Tensor] = field(default_factory=dict)
    doors: Doors = field(init=False)
    optimiser: torch.optim.Optimizer = field(init=False)

    def __post_init__(self) -> None:
        self.doors = doors(self.seed)
        self.optimiser = optimiser_for(self.network, self.train)

    def checkpoint(self, *, inputs: int, order: Tensor) -> Checkpoint:
        """The state as tensors and JSON; ``order`` is where the generator of batch order stood as the epoch began."""
        self.doors.rest.set_state(torch.get_rng_state())
        record = Record(
            model=self.setting,
            inputs=inputs,
            classes=self.network.classes,
            seed=self.seed,
            train=self.train.model_dump(mode="json"),
            position=self.at.model_dump(mode="json"),
            about=self.about,
        )
        moments = self.optimiser.state_dict()["state"]
        return Checkpoint(
            record=record,
            network=self.network.state_dict(),
            optimiser={f"{index}/{name}": part for index, parts in moments.items() for name, part in parts.items()},
            generators={**self.doors.states(), "order": order},
            best=self.best,
        )

    def resume(self, path: Path) -> None:
        """The state as the checkpoint at ``path`` has it."""
        checkpoint = load(path)
        model = checkpoint.record.model
        if model is not None and self.setting is not None and model != self.setting:
            raise CheckpointError(
                f"{path} belongs to another model, {model!r} instead of {self.setting!r}: give another path, or remove "
                "the file to start again."
            )
        restore(self.network, checkpoint, path=path)
        at = continued(checkpoint.record, self.train, self.seed)
        if at is None:
            raise CheckpointError(
                f"{path} was written with another seed or training setting (seed {checkpoint.record.seed}, "
                f"{checkpoint.record.train}): give another path, or remove the file to start again."
            )
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in checkpoint.optimiser.items():
            index, part = name.split("/")
            moments.setdefault(int(index), {})[part] = tensor
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})
        self.doors.set_states(checkpoint.generators)
        self.at, self.best = at, dict(checkpoint.best)


def continued(record: Record, train: Train, seed: int) -> Position | None:
    """The position from which ``train`` goes on as if it had run from the start; None if it would differ before it.

    Epochs may be more, and decays may differ where they have not yet been felt.
    """
    try:
        before = Train.model_validate(record.train)
        at = Position.model_validate(record.position)
    except ValidationError:
        return None
    felt = range(at.epoch + (at.batch > 0))
    same = before.model_copy(update={"epochs": train.epochs, "decay": train.decay}) == train
    alike = same and record.seed == seed and all(before.factor(epoch) == train.factor(epoch) for epoch in felt)
    return at if alike and at.epoch <= train.epochs else None


def optimiser_for(network: nn.Module, train: Train) -> torch.optim.Optimizer:
    """Adam or RMSprop with torch's defaults; parameters of orthogonal matrices form a second group where asked for.

    >>> from noisyrnn.models import Exponential
    >>> groups = optimiser_for(Exponential(hidden=4).build(1, 2), Train(lr=0.1, lr_orthogonal=0.01)).param_groups
    >>> [(len(group["params"]), group["lr"]) for group in groups]
    [(4, 0.1), (1, 0.01)]
    """
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [{"params": parameters, "lr": train.lr, "prescribed": train.lr}]
    if train.lr_orthogonal is not None:
        layers = [layer for layer in network.modules() if isinstance(layer, ExpRNN)]
        orthogonal = [parameter for layer in layers for parameter in layer.orthogonal_parameters()]
        if not orthogonal:
            raise ValueError(
                f"lr_orthogonal={train.lr_orthogonal} is for networks with orthogonal matrices, and this one has none; "
                "leave it out."
            )
        apart = set(map(id, orthogonal))
        groups[0]["params"] = [parameter for parameter in parameters if id(parameter) not in apart]
        groups.append({"params": orthogonal, "lr": train.lr_orthogonal, "prescribed": train.lr_orthogonal})
    kind = torch.optim.Adam if train.optimiser is Optimiser.ADAM else torch.optim.RMSprop
    return kind(groups, weight_decay=train.weight_decay)
