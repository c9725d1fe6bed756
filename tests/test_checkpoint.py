"""Checkpoints: whole or not at all, never altered unnoticed, never pickled."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save as bytes_of

from noisyrnn import checkpoint
from noisyrnn.checkpoint import Checkpoint, CheckpointError, Header, load, load_network, network_of, restore, save
from noisyrnn.models import PRESETS, Lipschitz

THEIRS = {"format": "another library 7", "record": "{}", "sha256": "0"}


def written(path: Path, hidden: int = 4) -> Path:
    model = Lipschitz(hidden=hidden)
    network = model.build(1, 2)
    save(path, Checkpoint(header=Header(model=model, inputs=1, classes=2), network=network.state_dict()))
    return path


def assert_harmless(error: CheckpointError, path: Path) -> None:
    """One sentence that names the file, and tells nobody to remove what may be somebody's only copy."""
    assert str(path) in str(error)
    assert "\n" not in str(error)
    assert "remove" not in str(error)


@pytest.mark.parametrize("task", PRESETS)
def test_every_prescribed_network_is_rebuilt(task: str, tmp_path: Path) -> None:
    for name, preset in PRESETS[task].items():
        model = preset.model.model_copy(update={"hidden": 6})
        network = model.build(1, 3).eval()
        path = tmp_path / f"{name}.safetensors"
        record = Header(model=model, inputs=1, classes=3, about={"classes": ["a", "b", "c"]})
        save(path, Checkpoint(header=record, network=network.state_dict()))
        x = torch.randn(2, 5, 1)
        assert torch.equal(load_network(path)(x), network(x))
        assert load(path).header == record


def test_loading_does_not_move_the_global_generator(tmp_path: Path) -> None:
    path = written(tmp_path / "c.safetensors")
    before = torch.get_rng_state()
    load_network(path)
    assert torch.equal(before, torch.get_rng_state())


def test_any_altered_byte_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path / "c.safetensors")
    whole = path.read_bytes()
    for position in (*range(0, len(whole), 37), len(whole) - 1):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(CheckpointError) as caught:
            load(path)
        assert_harmless(caught.value, path)
    for size in (0, 4, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"truncated or altered|only the beginning of one") as caught:
            load(path)
        assert_harmless(caught.value, path)
    path.write_bytes(whole)
    load(path)


def test_foreign_files_are_refused_and_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (exec, ("raise SystemExit('unpickled')",))

    foreign = [pickle.dumps(Bomb()), bytes_of({"w": torch.zeros(2)}), b"", b"a letter to a friend", b"\x00" * 64]
    foreign += [bytes_of({"w": torch.zeros(2)}, metadata=metadata) for metadata in ({"format": "pt"}, THEIRS)]
    foreign += [(100_000).to_bytes(8, "little") + b"[" * 100_000]
    for content in foreign:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="not a checkpoint of this library") as caught:
            load(path)
        assert_harmless(caught.value, path)
        assert path.read_bytes() == content
    with pytest.raises(CheckpointError, match="no checkpoint"):
        load(tmp_path / "none")


def test_a_checkpoint_that_was_exchanged_for_another_is_noticed(tmp_path: Path) -> None:
    path, other = written(tmp_path / "c.safetensors"), written(tmp_path / "d.safetensors", hidden=5)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load(path, sha256=digest).header == load(path).header
    path.write_bytes(other.read_bytes())
    load(path)
    with pytest.raises(CheckpointError, match="not the file that the run was finished with") as caught:
        load(path, sha256=digest)
    assert_harmless(caught.value, path)


def test_what_is_no_regular_file_is_one_sentence(tmp_path: Path) -> None:
    link = tmp_path / "link.safetensors"
    link.symlink_to(written(tmp_path / "c.safetensors"))
    for path in (link, tmp_path):
        with pytest.raises(CheckpointError) as caught:
            load(path)
        assert_harmless(caught.value, path)


def test_another_networks_weights_are_refused(tmp_path: Path) -> None:
    held = load(written(tmp_path / "c.safetensors"))
    with pytest.raises(CheckpointError, match=r"another size: .* has shape"):
        restore(Lipschitz(hidden=5).build(1, 2), held)
    with pytest.raises(CheckpointError, match="belongs to the model 'lipschitz'"):
        restore(PRESETS["ecg"]["cornn"].model.build(1, 2), held)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"cannot be written \(.*\): free space or choose another") as caught:
        written(tmp_path / "file" / "c.safetensors")
    assert "\n" not in str(caught.value)


def test_a_full_disk_leaves_the_earlier_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "c.safetensors")
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"cannot be written \(No space left on device\): free space"):
        written(path)
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == [path.name]


def forged(path: Path, alter: Callable[[dict[str, Any]], None], **tensors: torch.Tensor) -> Path:
    """A checkpoint of four units whose header was altered, with the sum that belongs to it."""
    content = written(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    told = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["record"])
    alter(told)
    held = {f"network/{name}": tensor for name, tensor in load(path).network.items()}
    held |= {f"network/{name}": tensor for name, tensor in tensors.items()}
    record = json.dumps(told)
    metadata = {"format": "noisyrnn checkpoint 1", "record": record, "sha256": checkpoint._digest(record, held)}
    path.write_bytes(bytes_of(held, metadata=metadata))
    return path


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("hidden", 15_000, r"belongs to a network of another size: .* has shape \(4.*\) there and \(15000"),
        ("hidden", 60_000, "model.lipschitz.hidden: input should be less than or equal to 16384"),
        ("hidden", -1, "hidden: input should be greater than or equal to 1"),
        ("substeps", 10**9, "substeps: input should be less than or equal to 1000"),
        ("num_layers", 10**9, "num_layers: input should be less than or equal to 64"),
        ("num_layers", 60, r"it has no layer\.cells\."),
        ("dt", -1.0, "describes a network that cannot be built .A step size must be a positive finite number"),
        ("scheme", "runge", "scheme: input should be"),
    ],
)
def test_a_forged_setting_is_refused_at_once(name: str, value: object, said: str, tmp_path: Path) -> None:
    path = forged(tmp_path / "c.safetensors", lambda told: told["model"].update({name: value}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match=said) as caught:
        load_network(path)
    # Kilobytes: two matrices of 15,000 x 15,000 would take six times as many.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("inputs", 10**12), ("inputs", 0), ("classes", 10**12), ("classes", 1)])
def test_a_forged_size_is_refused_at_once(name: str, value: int, tmp_path: Path) -> None:
    path = forged(tmp_path / "c.safetensors", lambda told: told.update({name: value}))
    with pytest.raises(CheckpointError):
        load_network(path)


def test_what_is_laid_out_takes_no_memory_before_it_is_compared(tmp_path: Path) -> None:
    path = forged(tmp_path / "c.safetensors", lambda told: told["model"].update({"hidden": 16_384}))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match="another size"):
        load_network(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100_000  # kilobytes; one matrix has a million


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float8_e5m2])
def test_weights_that_are_not_finite_are_refused(number: float, kind: torch.dtype, tmp_path: Path) -> None:
    bias = torch.tensor([0.0, number]).to(kind)
    path = forged(tmp_path / "c.safetensors", lambda told: None, **{"readout.bias": bias})
    with pytest.raises(CheckpointError, match=r"weights that are not finite numbers \(readout\.bias\)"):
        load(path)


def test_large_but_finite_weights_are_kept(tmp_path: Path) -> None:
    path = forged(tmp_path / "c.safetensors", lambda told: None, **{"readout.bias": torch.full((2,), 3e38)})
    assert load_network(path).readout.bias.tolist() == pytest.approx([3e38] * 2)


def test_numbers_of_another_kind_are_refused(tmp_path: Path) -> None:
    for bias in (torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.complex64)):
        path = forged(tmp_path / "c.safetensors", lambda told: None, **{"readout.bias": bias})
        with pytest.raises(CheckpointError, match=r"no such numbers as readout\.bias needs"):
            load_network(path)


def test_a_loaded_network_shares_nothing_with_its_checkpoint_and_can_be_trained(tmp_path: Path) -> None:
    held = load(written(tmp_path / "c.safetensors"))
    network = network_of(held)
    before = held.network["readout.bias"].clone()
    network(torch.randn(2, 5, 1)).sum().backward()
    with torch.no_grad():
        network.readout.bias += 1
    assert torch.equal(held.network["readout.bias"], before)
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert not any(tensor.is_meta for tensor in network.state_dict().values())


def test_a_directory_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"is a directory: name the checkpoint in it"):
        load_network(tmp_path)
