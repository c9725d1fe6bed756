"""Where the time of an epoch goes: the kernel, and everything else with its name.

A whole epoch of the noisy RNN of the paper by the loop that experiments use, with a checkpoint at its end and progress
reported after each batch, in processor time of one thread.

    python studies/epoch_profile.py [--out studies/epoch_profile.json]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from command import keep

from noisyrnn.data import load
from noisyrnn.experiments import EXPERIMENTS
from noisyrnn.rnn import native
from noisyrnn.train import fit, fresh

EPOCHS = {
    "ordered MNIST": ("table-1", "nrnn mult 0.02 add 0.05", 1),
    "heart beats": ("table-3", "nrnn mult 0.03 add 0.06", 20),
}
"""Experiment, recipe, and how many epochs: one of the small set would be over before it is measured."""
LISTED = 8
CALL = "native/sequence.py: _call"  # the line that calls the kernel: the profiler does not see inside


def profile(table: str, label: str, epochs: int) -> dict[str, Any]:
    """Seconds, the kernel's share, and what the rest is spent on."""
    experiment = EXPERIMENTS[table]
    recipe, splits = experiment.recipes[label], load(experiment.data)
    train = recipe.train.model_copy(update={"epochs": epochs, "decay": {}})
    watched = cProfile.Profile(time.process_time)
    with tempfile.TemporaryDirectory() as place:
        options: dict[str, Any] = {"setting": recipe.model, "path": Path(place, "run"), "progress": lambda moment: None}
        network = fresh(recipe.model, inputs=splits.train.x.shape[2], classes=len(splits.classes), seed=0)
        network(splits.train.x[:2]).sum().backward()  # what is loaded once is not an epoch's
        watched.runcall(fit, network, splits.train, train, seed=0, **options)
    stats = pstats.Stats(watched)
    seconds = stats.total_tt  # type: ignore[attr-defined]
    own = {_name(place): values[2] for place, values in stats.stats.items()}  # type: ignore[attr-defined]
    kernel = own.pop(CALL)
    rest = sorted(((spent, name) for name, spent in own.items()), reverse=True)[:LISTED]
    return {
        "epochs": epochs, "batch": train.batch, "series": len(splits.train), "seconds": round(seconds, 2),
        "kernel, percent": round(100 * kernel / seconds, 2),
        "others, percent": {name: round(100 * spent / seconds, 2) for spent, name in rest},
    }  # fmt: skip


def _name(place: tuple[str, int, str]) -> str:
    file, _, function = place
    return function if file == "~" else f"{Path(file).parent.name}/{Path(file).name}: {function}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    if not native.available():
        raise SystemExit(native.status())
    found = {name: profile(*asked) for name, asked in EPOCHS.items()}
    for name, one in found.items():
        print(name, one)
    keep(given.out, {"kernel": native.status(), "found": found})


if __name__ == "__main__":
    main()
