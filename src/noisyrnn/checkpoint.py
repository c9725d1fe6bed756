"""Checkpoints: weights, optimiser, generators and position in one safetensors file, with JSON in its header.

A file is written beside its place, flushed to the disk and renamed, so that a reader finds the earlier or the later
checkpoint and never a part of one. A sha256 over header and tensors is verified on reading. Nothing is ever pickled.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from
from safetensors.torch import save as bytes_of
from torch import Tensor, nn

from noisyrnn.disk import replaced
from noisyrnn.models import Model
from noisyrnn.rnn import Classifier
from noisyrnn.setting import Setting

_FORMAT = "noisyrnn checkpoint 1"
_PARTS = ("network", "optimiser", "generators", "best")


class CheckpointError(ValueError):
    """A checkpoint cannot be written, read, or used for this network; the message is one sentence with the remedy."""


class Record(Setting):
    """What a checkpoint says of itself.

    ``model`` is None for a network made in Python; ``train`` and ``position`` are kept as plain JSON for the training
    loop that wrote them; ``about`` is the caller's: names of classes, of channels.
    """

    model: Model | None = None
    inputs: int
    classes: int
    seed: int | None = None
    train: dict[str, Any] | None = None
    position: dict[str, Any] = Field(default={})
    about: dict[str, Any] = Field(default={})


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A record and its tensors, by name."""

    record: Record
    network: dict[str, Tensor]
    optimiser: dict[str, Tensor] = field(default_factory=dict)
    generators: dict[str, Tensor] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)


def save(path: Path, checkpoint: Checkpoint) -> None:
    """The checkpoint at ``path``, whole or not at all.

    >>> import tempfile
    >>> from noisyrnn.models import Lipschitz
    >>> model = Lipschitz(hidden=4)
    >>> network = model.build(inputs=1, classes=2)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory) / "network.safetensors"
    ...     save(path, Checkpoint(record=Record(model=model, inputs=1, classes=2), network=network.state_dict()))
    ...     bool((load_network(path).readout.bias == network.readout.bias).all())
    True
    """
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().contiguous()
        for part in _PARTS
        for name, tensor in getattr(checkpoint, part).items()
    }
    record = checkpoint.record.model_dump_json()
    header = {"format": _FORMAT, "record": record, "sha256": _digest(record, tensors)}
    write_whole(path, bytes_of(tensors, metadata=header))


def load(path: Path) -> Checkpoint:
    """The checkpoint at ``path``, verified."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"There is no checkpoint {path}: check the path.") from error
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error
    try:
        header = _header(content)
        if header.get("format") != _FORMAT:
            raise CheckpointError(
                f"{path} is not a checkpoint of this library (its format is {header.get('format')!r}, "
                f"not {_FORMAT!r}): give a file that noisyrnn wrote."
            )
        tensors = tensors_from(content)
        if _digest(header["record"], tensors) != header["sha256"]:
            raise CheckpointError(f"{path} was altered after it was written: remove it to start that training again.")
        record = Record.model_validate_json(header["record"])
    except (SafetensorError, struct.error, UnicodeDecodeError, json.JSONDecodeError, KeyError) as error:
        raise CheckpointError(
            f"{path} is truncated or altered ({len(content)} bytes): remove it to start that training again."
        ) from error
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise CheckpointError(
            f"{path} describes a network that this version does not know (at {where}): use the version that wrote it."
        ) from error
    parts = {
        part: {name.removeprefix(f"{part}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{part}/")}
        for part in _PARTS
    }
    return Checkpoint(record=record, **parts)


def load_network(path: Path) -> Classifier:
    """The network at ``path``, rebuilt from its own setting, in evaluation mode."""
    checkpoint = load(path)
    record = checkpoint.record
    if record.model is None:
        raise CheckpointError(
            f"{path} holds weights of a network that was made in Python: build it there and call restore()."
        )
    with torch.random.fork_rng(devices=[]):
        network = record.model.build(record.inputs, record.classes)
    restore(network, checkpoint, path=path, best=True)
    return network.eval()


def restore(network: nn.Module, checkpoint: Checkpoint, *, path: Path | None = None, best: bool = False) -> None:
    """The checkpoint's last weights, or with ``best`` those kept as best if any were, put into a network."""
    weights = checkpoint.best if best and checkpoint.best else checkpoint.network
    own = network.state_dict()
    where = "The checkpoint" if path is None else str(path)
    kind = "another network" if checkpoint.record.model is None else f"the model {checkpoint.record.model.kind!r}"
    for name in sorted(own.keys() ^ weights.keys()):
        side = "has no" if name in own else "has"
        raise CheckpointError(
            f"{where} belongs to {kind}: it {side} {name}; build that network, or remove the file to start again."
        )
    for name, tensor in weights.items():
        if own[name].shape != tensor.shape:
            raise CheckpointError(
                f"{where} belongs to a network of another size: {name} has shape {tuple(tensor.shape)} there and "
                f"{tuple(own[name].shape)} here; build that network, or remove the file to start again."
            )
    network.load_state_dict(weights)


def write_whole(path: Path, content: bytes) -> None:
    """``content`` at ``path`` by an atomic rename; what was there before stays until the new file is on the disk."""
    try:
        replaced(Path(path), content)
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written ({error.strerror}): free space or choose another directory; "
            "what was written before is intact."
        ) from error


def _header(content: bytes) -> dict[str, str]:
    (length,) = struct.unpack("<Q", content[:8])
    found = json.loads(content[8 : 8 + length])
    return found.get("__metadata__", {})


def _digest(record: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(record.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
