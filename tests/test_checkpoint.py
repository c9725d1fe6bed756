"""Checkpoints: whole or not at all, never altered unnoticed, never pickled."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest
import torch

from noisyrnn.checkpoint import Checkpoint, CheckpointError, Record, load, load_network, restore, save, write_whole
from noisyrnn.models import PRESETS, Lipschitz


def written(path: Path, hidden: int = 4) -> Path:
    model = Lipschitz(hidden=hidden)
    network = model.build(1, 2)
    save(path, Checkpoint(record=Record(model=model, inputs=1, classes=2), network=network.state_dict()))
    return path


@pytest.mark.parametrize("task", PRESETS)
def test_every_prescribed_network_is_rebuilt(task: str, tmp_path: Path) -> None:
    for name, preset in PRESETS[task].items():
        model = preset.model.model_copy(update={"hidden": 6})
        network = model.build(1, 3).eval()
        path = tmp_path / f"{name}.safetensors"
        record = Record(model=model, inputs=1, classes=3, about={"classes": ["a", "b", "c"]})
        save(path, Checkpoint(record=record, network=network.state_dict()))
        x = torch.randn(2, 5, 1)
        assert torch.equal(load_network(path)(x), network(x))
        assert load(path).record == record


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
        with pytest.raises(CheckpointError):
            load(path)
    for size in (0, 4, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match="truncated or altered"):
            load(path)
    path.write_bytes(whole)
    load(path)


def test_foreign_files_are_refused_and_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (exec, ("raise SystemExit('unpickled')",))

    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CheckpointError):
        load(path)
    from safetensors.torch import save_file

    save_file({"w": torch.zeros(2)}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint of this library"):
        load(path)
    with pytest.raises(CheckpointError, match="no checkpoint"):
        load(tmp_path / "none")


def test_another_networks_weights_are_refused(tmp_path: Path) -> None:
    checkpoint = load(written(tmp_path / "c.safetensors"))
    with pytest.raises(CheckpointError, match=r"another size: .* has shape"):
        restore(Lipschitz(hidden=5).build(1, 2), checkpoint)
    with pytest.raises(CheckpointError, match="belongs to the model 'lipschitz'"):
        restore(PRESETS["ecg"]["cornn"].model.build(1, 2), checkpoint)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"cannot be written \(.*\): free space or choose another") as caught:
        write_whole(tmp_path / "file" / "c.safetensors", b"")
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
