"""What a command works on: a saved model with samples of its data, or a named problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from noisyrnn.data import Split, Splits
    from noisyrnn.rnn import Classifier
    from noisyrnn.theory import Network
    from noisyrnn.theory.known import Example

PROBLEMS = ("reference", "two-classes", "random")


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A network and the data that it was trained on."""

    name: str
    network: Classifier
    splits: Splits


def saved_model(model: Path, data: str | None) -> Saved:
    """The network at ``model`` with the data that its header names, or that ``data`` does."""
    from noisyrnn.checkpoint import load as load_checkpoint
    from noisyrnn.checkpoint import network_of
    from noisyrnn.data import load

    checkpoint = load_checkpoint(model)
    network, header = network_of(checkpoint, path=model), checkpoint.header
    told = header.about.get("data")
    splits = load(_told_data(told, model) if data is None else _asked_data(data, told))
    inputs = splits.test.x.shape[2]
    if inputs != header.inputs or len(splits.classes) != header.classes:
        raise ValueError(
            f"{model} takes {header.inputs} features and tells {header.classes} classes, but these data have {inputs} "
            f"and {len(splits.classes)}: name its own with --data."
        )
    kind = "network" if header.model is None else header.model.kind
    return Saved(name=f"{kind} ({model.name})", network=network, splits=splits)


def _told_data(told: Any, model: Path) -> Any:
    """The data set that a checkpoint names, if it is one of those that everybody knows.

    A checkpoint may come from a stranger: it does not choose which files of this machine are opened, nor which
    addresses are asked.
    """
    from pydantic import TypeAdapter, ValidationError

    from noisyrnn.data import UCR, DataSet, Table, available

    if told is None:
        raise ValueError(f"{model} does not say which data it was trained on: name them with --data, such as digits.")
    try:
        setting = TypeAdapter(DataSet).validate_python(told)
    except ValidationError as error:
        raise ValueError(f"{model} names data that this version does not know: name them with --data.") from error
    if isinstance(setting, Table):
        raise ValueError(
            f"{model} was trained on a file, {str(setting.path)[:200]!r}, which is opened only if you ask for it: "
            "name it with --data."
        )
    if isinstance(setting, UCR) and f"ucr:{setting.name}" not in {entry.name for entry in available()}:
        raise ValueError(
            f"{model} names the set {setting.name[:80]!r}, which no checksum is known of: ask for it with "
            f"--data ucr:{setting.name[:80]}."
        )
    return setting


def _asked_data(data: str, told: Any) -> Any:
    """The data set of a name, or a file of one's own; its columns mean what the checkpoint says that they do."""
    from pydantic import TypeAdapter, ValidationError

    from noisyrnn.data import Table, named

    if not Path(data).is_file():
        return named(data)
    try:
        before = TypeAdapter(Table).validate_python(told)
    except ValidationError:
        return Table(path=Path(data))
    return before.model_copy(update={"path": Path(data), "test_path": None})


def samples(split: Split, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """``count`` samples of a split, the same for every model."""
    import torch

    from noisyrnn.randomness import stream

    if split.lengths is not None and int(split.lengths.min()) < split.x.shape[1]:
        raise ValueError("These commands need sequences of one length, but these data have several; cut them first.")
    index = torch.randperm(len(split), generator=stream("theory samples", len(split)))[:count]
    return split.x[index], split.y[index]


def check_choice(model: Any, problem: str | None, names: Iterable[str]) -> None:
    """Refuse unless exactly one of the two was given and the problem exists."""
    names = tuple(names)
    if (not model) == (problem is None):
        raise ValueError(f"Give either a saved model or --problem, one of {', '.join(names)}.")
    if problem is not None and problem not in names:
        raise ValueError(f"There is no problem {problem!r} here; choose from {', '.join(names)}.")


def example(
    name: str,
    *,
    additive: float | None = None,
    multiplicative: float | None = None,
    label: int | None = None,
    activation: str = "tanh",
    count: int = 5,
    seed: int = 0,
) -> Example:
    """An example of :mod:`noisyrnn.theory.known` under a name, with its own noise unless another is given."""
    import torch

    from noisyrnn.sde import DriftNoise
    from noisyrnn.sde import activation as activation_named
    from noisyrnn.theory.known import random_example, reference, two_classes

    # The reference's noise in the paper's own class, on which its Q is pinned.
    strengths = (0.4 if additive is None else additive, 0.6 if multiplicative is None else multiplicative)
    sigma_1, sigma_2 = torch.tensor(strengths, dtype=torch.float64)
    noise = DriftNoise(sigma_1, sigma_2)
    a = activation_named(activation)
    match name:
        case "reference":
            return reference(diffusion=noise, label=2 if label is None else label, activation=a)
        case "two-classes":
            return two_classes()
        case _:
            generator = torch.Generator().manual_seed(seed)
            return random_example(generator, samples=count, diffusion=noise, activation=a)


def theory_network(model: Classifier, *, additive: float | None, multiplicative: float | None) -> Network:
    """The network of the theorems in double precision, with its own noise or the supposed one."""
    from dataclasses import replace

    import torch

    from noisyrnn.sde import DriftNoise
    from noisyrnn.theory import Network

    network = Network.of_classifier(model.double())
    if additive is None and multiplicative is None:
        return network
    sigma_1, sigma_2 = torch.tensor((additive or 0.0, multiplicative or 0.0), dtype=torch.float64)
    return replace(network, diffusion=DriftNoise(sigma_1, sigma_2), released=None)


def sde_cell(model: Classifier) -> Any:
    """The single SDE cell of a classifier, in double precision, with its matrices built and without their history."""
    import torch

    cells = list(getattr(model.layer, "cells", []))
    if len(cells) != 1 or not hasattr(cells[0], "sde"):
        raise ValueError(
            f"This command is about one layer of an SDE cell in one direction, got {type(model.layer).__name__}: "
            "give a noisy, Lipschitz or antisymmetric network of one layer."
        )
    with torch.no_grad():
        return cells[0].double().built(noisy=True)


def step_size(cell: Any) -> torch.Tensor:
    """The cell's step size: one number, or one per unit."""
    import torch

    state = torch.zeros(1, cell.units, dtype=torch.float64)
    return cell.step_size(state, lambda: state).detach() / cell.substeps
