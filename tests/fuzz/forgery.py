"""Networks and classifiers that somebody has damaged, or forged with the sums that belong to them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from corpus import Corpus
from mutation import altered_bytes, altered_json, altered_value
from safetensors.torch import save as bytes_of

from noisyrnn import checkpoint
from noisyrnn.checkpoint import load, load_network, packed
from noisyrnn.data import Split
from noisyrnn.estimator import NoisyRNNClassifier
from noisyrnn.estimator.saving import SETTINGS, WEIGHTS
from noisyrnn.train import Train, fit, fresh


def use(path: Path) -> object:
    network = load_network(path)
    return network(torch.zeros(1, 2, load(path).header.inputs))


def damaged_checkpoint(scratch: Path, content: bytes) -> Callable[[Random], object]:
    def call(random: Random) -> object:
        path = scratch / "network.safetensors"
        path.write_bytes(altered_bytes(content, random, b'{"__metadata__":{}}'))
        return use(path)

    return call


def forged(corpus: Corpus, random: Random, path: Path) -> Path:
    """A checkpoint whose settings or tensors were altered, with the sum that belongs to them."""
    held = load(corpus.network)
    told = json.loads(held.header.model_dump_json())
    parts = {part: dict(getattr(held, part)) for part in ("network", "optimiser", "generators", "best")}
    if random.random() < 0.7:
        room = random.choice(("model", "position", "train", "about", ""))
        for _ in range(random.choice((1, 1, 2))):
            if room and room in told:
                told[room] = altered_value(told[room], random)
            else:
                told = altered_value(told, random)
            if not isinstance(told, dict):
                break
    else:
        alter_tensors(parts, random)
    tensors = {f"{part}/{name}": tensor for part, named in parts.items() for name, tensor in named.items()}
    record = json.dumps(told)
    try:
        metadata = {"format": "noisyrnn checkpoint 1", "record": record, "sha256": checkpoint._digest(record, tensors)}
        path.write_bytes(bytes_of(tensors, metadata=metadata))
    except UnicodeError:  # no file can hold half a character
        path.write_bytes(b"")
    return path


def alter_tensors(parts: dict[str, dict[str, torch.Tensor]], random: Random) -> None:
    part = parts[random.choice([part for part, named in parts.items() if named])]
    name = random.choice(sorted(part))
    tensor = part[name]
    new: list[torch.Tensor | None] = [
        None, tensor.reshape(-1)[:0], tensor.unsqueeze(0), torch.zeros_like(tensor), torch.full((3,), torch.nan),
        tensor.double(), tensor.to(torch.int32), tensor.to(torch.complex64), tensor.bool(), torch.zeros(2, 3, 4),
        torch.full(tensor.shape, torch.nan) if tensor.is_floating_point() else tensor + 1, tensor.to(torch.bfloat16),
    ]  # fmt: skip
    chosen = random.choice(new)
    del part[name]
    if chosen is not None:
        part[random.choice((name, name, name, "x", "0/0", f"{name}/1", "-1/step", "\u00b2/step"))] = chosen.contiguous()


def forged_network(scratch: Path, corpus: Corpus) -> Callable[[Random], object]:
    return lambda random: use(forged(corpus, random, scratch / "forged.safetensors"))


def damaged_classifier(scratch: Path, corpus: Corpus) -> Callable[[Random], object]:
    """A saved classifier with one of its files altered; half of the altered settings with the sum that belongs to them.

    Whoever forges the settings of a stranger's model forges that sum as well.
    """
    place = scratch / "fitted"
    shutil.copytree(corpus.fitted, place)
    settings, weights = (corpus.fitted / name for name in (SETTINGS, WEIGHTS))
    X = np.zeros((2, 3))

    def call(random: Random) -> object:
        text, held = settings.read_bytes(), weights.read_bytes()
        if random.random() < 0.2:
            held = altered_bytes(held, random)
        elif random.random() < 0.3:
            text = altered_bytes(text, random)
        else:
            text = altered_json(text, random)
            whole = load(weights)
            told = {"settings": hashlib.sha256(text).hexdigest()}
            held = packed(replace(whole, header=whole.header.model_copy(update={"about": told})))
        (place / SETTINGS).write_bytes(text)
        (place / WEIGHTS).write_bytes(held)
        return NoisyRNNClassifier.load(place).predict(X)

    return call


def forged_resumption(scratch: Path, corpus: Corpus) -> Callable[[Random], object]:
    setting = corpus.experiment.recipes["noisy"]
    x = torch.randn(12, 3, 8, generator=torch.Generator().manual_seed(0))
    split = Split(x=x, y=torch.arange(12) % 10)

    def call(random: Random) -> object:
        path = forged(corpus, random, scratch / "resumed.safetensors")
        network = fresh(setting.model, inputs=8, classes=10, seed=0)
        train = Train(epochs=3, batch=1200, decay=setting.train.decay)
        return fit(network, split, train, seed=0, setting=setting.model, path=path)

    return call
