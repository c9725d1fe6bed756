"""Checkpoints: weights, optimiser, generators and position in one safetensors file, with JSON in its header.

The position says which epochs and batches of a training are done, so that it can go on from there.

A file is written beside its place, flushed to the disk and renamed, so that a reader finds the earlier or the later
checkpoint and never a part of one. A sha256 over header and tensors is verified on reading. Nothing is ever pickled.

A sum can be forged along with the rest, so a header is not believed: the network that it describes is laid out without
memory, and takes some only when its names and shapes are those of the weights that are there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from
from safetensors.torch import save as bytes_of
from torch import Tensor, nn

from noisyrnn import disk
from noisyrnn.models import Model
from noisyrnn.rnn import Classifier
from noisyrnn.setting import Added, Setting, sentence

LARGEST = 2**31
"""Bytes of a checkpoint: far beyond any network that this library trains on one machine."""

_HEADER = 2**24  # bytes: names, shapes, settings, and the record of a hundred thousand epochs
_FORMAT = "noisyrnn checkpoint 1"
_PARTS = ("network", "optimiser", "generators", "best")


class CheckpointError(ValueError):
    """A checkpoint cannot be written, read, or used for this network; the message is one sentence with the remedy."""


class Header(Setting):
    """What a checkpoint says of itself.

    ``model`` is None for a network made in Python; ``train`` and ``position`` are kept as plain JSON for the training
    loop that wrote them; ``about`` is the caller's: names of classes, of channels. ``contracts`` are those of the noise
    that the network was trained with, in the order of use: more than one where a later version went on with a run.
    """

    model: Model | None = None
    inputs: int = Field(ge=1, le=2**24)
    classes: int = Field(ge=1, le=2**24)
    seed: int | None = None
    train: dict[str, Any] | None = None
    position: dict[str, Any] = Field(default={})
    about: dict[str, Any] = Field(default={})
    contracts: Annotated[tuple[int, ...], Added("0.2")] = (1,)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A header and its tensors, by name."""

    header: Header
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
    ...     save(path, Checkpoint(header=Header(model=model, inputs=1, classes=2), network=network.state_dict()))
    ...     bool((load_network(path).readout.bias == network.readout.bias).all())
    True
    """
    try:
        disk.save(path, packed(checkpoint))
    except disk.UnwritableFile as error:
        raise CheckpointError(str(error)) from error


def packed(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as the bytes of a safetensors file; the same checkpoint always gives the same bytes."""
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().contiguous()
        for part in _PARTS
        for name, tensor in getattr(checkpoint, part).items()
    }
    told = checkpoint.header.model_dump_json()
    metadata = {"format": _FORMAT, "record": told, "sha256": _digest(told, tensors)}
    return _ordered(bytes_of(tensors, metadata=metadata))


def _ordered(content: bytes) -> bytes:
    """The same file with its metadata in alphabetic order: safetensors writes them in any."""
    length = int.from_bytes(content[:8], "little")
    entries = json.loads(content[8 : 8 + length])
    entries["__metadata__"] = dict(sorted(entries["__metadata__"].items()))
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of eight
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def load(path: Path | str, *, sha256: str | None = None) -> Checkpoint:
    """The checkpoint at ``path``, verified; with ``sha256``, that of the whole file, it must be that very one."""
    path = Path(path)
    if path.is_dir():
        raise CheckpointError(f"{path} is a directory: name the checkpoint in it, such as state-1.safetensors.")
    try:
        content = disk.read(path, most=LARGEST)
    except FileNotFoundError as error:
        raise CheckpointError(f"There is no checkpoint {path}: check the path.") from error
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the path.") from error
    except disk.DamagedFile as error:
        raise CheckpointError(str(error)) from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise CheckpointError(f"{path} is not the file that the run was finished with: it was altered or exchanged.")
    metadata = _metadata(content, path)
    try:
        tensors = tensors_from(content)
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, RuntimeError) as error:
        raise CheckpointError(
            f"{path} is truncated or altered ({len(content)} bytes): put back a copy; without one, a training that "
            "saves there has to start again in another place."
        ) from error
    if _digest(metadata.record, tensors) != metadata.sha256:
        raise CheckpointError(
            f"{path} was altered after it was written: put back a copy; without one, a training that saves there has "
            "to start again in another place."
        )
    try:
        header = Header.model_validate_json(metadata.record)
    except ValidationError as error:
        raise CheckpointError(
            f"{path} describes a network that this version does not know ({sentence(error).rstrip('.')}): use the "
            "version that wrote it."
        ) from error
    parts = {
        part: {name.removeprefix(f"{part}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{part}/")}
        for part in _PARTS
    }
    for name, tensor in (parts["network"] | parts["best"]).items():
        if not _finite(tensor):
            raise CheckpointError(f"{path} holds weights that are not finite numbers ({name}): use an earlier copy.")
    return Checkpoint(header=header, **parts)


def load_network(path: Path | str) -> Classifier:
    """The network at ``path``, rebuilt from its own setting, in evaluation mode."""
    return network_of(load(path), path=Path(path))


def network_of(checkpoint: Checkpoint, *, path: Path | None = None) -> Classifier:
    """The network of a checkpoint, rebuilt from its own setting, in evaluation mode."""
    header = checkpoint.header
    if header.model is None:
        raise CheckpointError(
            f"{path or 'The checkpoint'} holds weights of a network that was made in Python: build it there and call "
            "restore()."
        )
    try:
        with torch.device("meta"):  # shapes without memory
            network = header.model.build(header.inputs, header.classes)
    except (ValueError, RuntimeError, OverflowError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise CheckpointError(
            f"{path or 'The checkpoint'} describes a network that cannot be built ({reason}): give another file."
        ) from error
    restore(network, checkpoint, path=path, best=True)
    return network.eval()


def restore(network: nn.Module, checkpoint: Checkpoint, *, path: Path | None = None, best: bool = False) -> None:
    """The checkpoint's last weights, or with ``best`` those kept as best if any were, put into a network."""
    weights = checkpoint.best if best and checkpoint.best else checkpoint.network
    own = network.state_dict()
    laid_out = any(tensor.is_meta for tensor in own.values())
    where = "The checkpoint" if path is None else str(path)
    kind = "another network" if checkpoint.header.model is None else f"the model {checkpoint.header.model.kind!r}"
    for name in sorted(own.keys() ^ weights.keys()):
        side = "has no" if name in own else "has"
        raise CheckpointError(
            f"{where} belongs to {kind}: it {side} {name}; build that network, or remove the file to start again."
        )
    for name, tensor in sorted(weights.items()):
        if own[name].shape != tensor.shape:
            raise CheckpointError(
                f"{where} belongs to a network of another size: {name} has shape {tuple(tensor.shape)} there and "
                f"{tuple(own[name].shape)} here; build that network, or remove the file to start again."
            )
        if tensor.is_floating_point() != own[name].is_floating_point() or tensor.is_complex():
            raise CheckpointError(f"{where} holds no such numbers as {name} needs, but {tensor.dtype}: give another.")
    if laid_out:
        copies = {name: tensor.to(own[name].dtype, copy=True) for name, tensor in weights.items()}
        network.load_state_dict(copies, assign=True)
    else:
        network.load_state_dict(weights)


class _Metadata(BaseModel):
    """What our files say in the metadata of safetensors."""

    format: str
    record: str
    sha256: str


def _metadata(content: bytes, path: Path) -> _Metadata:
    """The metadata; a file that is not ours is called foreign, and nobody is told to remove it."""
    length = int.from_bytes(content[:8], "little")
    try:
        if len(content) < 8 or length > min(len(content) - 8, _HEADER):
            raise ValueError("too short for its header")
        entries = TypeAdapter(dict[str, Any]).validate_json(content[8 : 8 + length])
        metadata = entries.get("__metadata__")
        found = _Metadata.model_validate(metadata)
    except ValueError as error:
        raise CheckpointError(
            f"{path} is not a checkpoint of this library, or only the beginning of one: give a file that noisyrnn "
            "wrote, whole."
        ) from error
    if found.format != _FORMAT:
        raise CheckpointError(
            f"{path} is not a checkpoint of this library (its format is {found.format!r}, not {_FORMAT!r}): give a "
            "file that noisyrnn wrote."
        )
    return found


def _finite(tensor: Tensor) -> bool:
    # A finite sum has finite terms, and is found faster; eight-bit numbers have no sums.
    numbers = tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor
    return not tensor.is_floating_point() or bool(numbers.sum().isfinite()) or bool(numbers.isfinite().all())


def _digest(record: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(record.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
