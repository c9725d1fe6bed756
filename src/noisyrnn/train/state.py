"""Everything that a run of training is made of at one moment, there and back through a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, ValidationError, model_validator
from torch import Tensor, nn

from noisyrnn.checkpoint import Checkpoint, CheckpointError, Header, load, restore
from noisyrnn.models import ExpRNN, Model, Optimiser
from noisyrnn.randomness import Doors, doors
from noisyrnn.rnn import Classifier
from noisyrnn.sde.brownian import CONTRACT
from noisyrnn.setting import Setting
from noisyrnn.train.setting import LONGEST, Train


class Epoch(Setting):
    """What one epoch gave: mean loss and accuracy (percent) on the training batches as they came, and its seconds."""

    epoch: int = Field(ge=0, le=LONGEST)
    rate: float
    loss: float
    accuracy: float
    validation: float | None = None
    seconds: float


class Position(Setting):
    """What is done: whole epochs, batches of the one under way, and sums over these batches."""

    epoch: int = Field(default=0, ge=0, le=LONGEST)
    batch: int = Field(default=0, ge=0, lt=2**63)
    loss: float = 0.0
    right: int = Field(default=0, ge=0, lt=2**63)
    seconds: float = 0.0
    best: float | None = None
    stale: int = 0
    stopped: bool = False
    history: tuple[Epoch, ...] = ()

    @model_validator(mode="after")
    def _told_once(self) -> Position:
        if [one.epoch for one in self.history] != [*range(self.epoch)]:
            raise ValueError(f"the record of {self.epoch} epochs must tell each of them once")
        return self


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
    contracts: tuple[int, ...] = (CONTRACT,)
    doors: Doors = field(init=False)
    optimiser: torch.optim.Optimizer = field(init=False)

    def __post_init__(self) -> None:
        self.doors = doors(self.seed)
        self.optimiser = optimiser_for(self.network, self.train)

    def checkpoint(self, *, inputs: int, order: Tensor) -> Checkpoint:
        """The state as tensors and JSON; ``order`` is where the generator of batch order stood as the epoch began."""
        self.doors.rest.set_state(torch.get_rng_state())
        header = Header(
            model=self.setting,
            inputs=inputs,
            classes=self.network.classes,
            seed=self.seed,
            train=self.train.model_dump(mode="json"),
            position=self.at.model_dump(mode="json"),
            about=self.about,
            contracts=self.contracts,
        )
        moments = self.optimiser.state_dict()["state"]
        return Checkpoint(
            header=header,
            network=self.network.state_dict(),
            optimiser={f"{index}/{name}": part for index, parts in moments.items() for name, part in parts.items()},
            generators={**self.doors.states(), "order": order},
            best=self.best,
        )

    def resume(self, path: Path) -> None:
        """The state as the checkpoint at ``path`` has it."""
        checkpoint = load(path)
        model = checkpoint.header.model
        if model is not None and self.setting is not None and model != self.setting:
            raise CheckpointError(
                f"{path} belongs to another model, {model!r} instead of {self.setting!r}: give another path, or remove "
                "the file to start again."
            )
        restore(self.network, checkpoint, path=path)
        at = continued(checkpoint.header, self.train, self.seed)
        if at is None:
            raise CheckpointError(
                f"{path} was written with another seed or training setting (seed {checkpoint.header.seed}, "
                f"{str(checkpoint.header.train)[:500]}): give another path, or remove the file to start again."
            )
        try:
            moments = _moments(checkpoint.optimiser, self.optimiser)
            groups = self.optimiser.state_dict()["param_groups"]
            self.optimiser.load_state_dict({"state": moments, "param_groups": groups})
            self.doors.set_states(checkpoint.generators)
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise CheckpointError(
                f"{path} has weights, but not the state of their training ({' '.join(str(error).split())}): give "
                "another path, or remove the file to start again."
            ) from error
        if checkpoint.best:
            restore(self.network, checkpoint, path=path, best=True)
            restore(self.network, checkpoint, path=path)
        self.at, self.best = at, dict(checkpoint.best)
        # A run of an earlier contract goes on with other noise of the same law, and says so from now on.
        self.contracts = tuple(dict.fromkeys((*checkpoint.header.contracts, CONTRACT)))


def continued(header: Header, train: Train, seed: int) -> Position | None:
    """The position from which ``train`` goes on as if it had run from the start; None if it would differ before it.

    Epochs may be more, and decays may differ where they have not yet been felt.
    """
    try:
        before = Train.model_validate(header.train)
        at = Position.model_validate(header.position)
    except ValidationError:
        return None
    if at.epoch > train.epochs:
        return None
    felt = range(at.epoch + (at.batch > 0))
    same = before.model_copy(update={"epochs": train.epochs, "decay": train.decay}) == train
    alike = same and header.seed == seed and all(before.factor(epoch) == train.factor(epoch) for epoch in felt)
    return at if alike else None


_PARTS = {torch.optim.Adam: {"step", "exp_avg", "exp_avg_sq"}, torch.optim.RMSprop: {"step", "square_avg"}}


def _moments(tensors: dict[str, Tensor], optimiser: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """What an optimiser has gathered, for each parameter by its number: of the parameter's shape, or one number."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    found: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, _, part = name.partition("/")
        number = int(index) if index.isascii() and index.isdigit() and len(index) < 10 else len(parameters)
        shape = parameters[number].shape if number < len(parameters) else None
        if shape is None or tensor.shape != (() if part == "step" else shape) or not tensor.is_floating_point():
            raise ValueError(f"there is no place for {name} of shape {tuple(tensor.shape)}")
        found.setdefault(number, {})[part] = tensor
    expected = _PARTS[type(optimiser)]
    if any(parts.keys() != expected for parts in found.values()):
        raise ValueError("what the optimiser has gathered is not complete")
    return found


def optimiser_for(network: nn.Module, train: Train) -> torch.optim.Optimizer:
    """Adam or RMSprop with torch's defaults; parameters of orthogonal matrices form a second group where asked for.

    Only the exponential RNN has such matrices, and its authors give them a smaller rate.

    >>> from noisyrnn.models import ExpRNNSetting
    >>> groups = optimiser_for(ExpRNNSetting(hidden=4).build(1, 2), Train(lr=0.1, lr_orthogonal=0.01)).param_groups
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
