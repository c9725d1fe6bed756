"""How much faster than serial are two workers: twelve small networks trained on digits by each engine, one thread each.

Rounds of all engines follow each other, so that what else a machine does falls on all; a speed-up is the median over
the rounds. The rows of all engines must be the same.

    python studies/engines.py [--rounds 3] [--epochs 60] [--out studies/engines.json]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from command import keep

from noisyrnn.data import Digits, Reading
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Engine, Experiment, Joblib, Measurement, Ray, Recipe, Serial, rows, run
from noisyrnn.models import Lipschitz, Noisy
from noisyrnn.perturb import White
from noisyrnn.train import Train

WORKERS = 2


def sweep(epochs: int) -> Experiment:
    """Two models and six seeds."""
    train = Train(epochs=epochs, batch=64)
    return Experiment(
        name="engines",
        data=Digits(reading=Reading.PIXELS),
        seeds=6,
        recipes={
            "lipschitz": Recipe(model=Lipschitz(hidden=64), train=train),
            "nrnn": Recipe(model=Noisy(hidden=64), train=train),
        },
        measurements=(Measurement(measure=Clean()), Measurement(measure=White(sigma=0.2))),
    )


def engines() -> dict[str, Engine]:
    """Those that are installed."""
    found: dict[str, Engine] = {"serial": Serial(), "joblib": Joblib(workers=WORKERS)}
    return found | ({"ray": Ray(workers=WORKERS)} if importlib.util.find_spec("ray") else {})


def timed(experiment: Experiment, engine: Engine) -> tuple[float, dict[Any, float]]:
    """Seconds of a whole sweep, the start of its workers included, and its rows."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        outcome = run(experiment, Path(directory), engine=engine)
        seconds = time.perf_counter() - began
        if not outcome.complete:
            raise SystemExit(f"Not all is done: {outcome.failures}")
        return seconds, {row.cell: row.value for row in rows(directory)}


def measured(rounds: int, epochs: int) -> dict[str, Any]:
    """Seconds by engine and round, and median speed-ups over serial."""
    experiment = sweep(epochs)
    seconds: dict[str, list[float]] = {}
    expected: dict[Any, float] = {}
    for _ in range(rounds):
        for name, engine in engines().items():
            spent, found = timed(experiment, engine)
            seconds.setdefault(name, []).append(round(spent, 2))
            expected = expected or found
            if found != expected:
                raise SystemExit(f"{name} gives other rows than the first engine.")
            print(f"{name}: {spent:.1f} s", flush=True)
    faster = {
        name: round(statistics.median(a / b for a, b in zip(seconds["serial"], spent, strict=True)), 2)
        for name, spent in seconds.items()
        if name != "serial"
    }
    return {
        "runs": 12,
        "epochs": epochs,
        "workers": WORKERS,
        "cores": os.cpu_count(),
        "seconds": seconds,
        "faster": faster,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = measured(options.rounds, options.epochs)
    keep(options.out, found)
    print(found["faster"])


if __name__ == "__main__":
    main()
