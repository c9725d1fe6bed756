"""A small experiment on the embedded digits, and processes that run it: for tests that kill and restart."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

import torch

from noisyrnn.data import Digits, Reading
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Experiment, Joblib, Measurement, Recipe, run
from noisyrnn.experiments.store import lease
from noisyrnn.models import ExpRNNSetting, Lipschitz, Noisy, Optimiser
from noisyrnn.perturb import White
from noisyrnn.train import Train


def tiny(
    *, name: str = "tiny", seeds: int = 1, epochs: int = 2, measures: tuple = (Clean(), White(sigma=0.1))
) -> Experiment:
    train = Train(epochs=epochs, batch=200, lr=1e-2)
    rotating = train.model_copy(update={"optimiser": Optimiser.RMSPROP, "lr_orthogonal": 1e-3})
    return Experiment(
        name=name,
        claim="",
        data=Digits(reading=Reading.ROWS),
        seeds=seeds,
        recipes={
            "lipschitz": Recipe(model=Lipschitz(hidden=6, dt=0.1), train=train),
            "nrnn": Recipe(model=Noisy(hidden=6, dt=0.1, additive=0.1, multiplicative=0.1), train=train),
            "exprnn": Recipe(model=ExpRNNSetting(hidden=6, rebase=4), train=rotating),
        },
        measurements=tuple(Measurement(measure=measure) for measure in measures),
    )


def work(directory: str, seeds: int, epochs: int, limit: int | None, answer: Connection) -> None:
    """Run it in a process of its own, with a limit on the size of files that stands for a full disk, and tell."""
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    torch.set_num_threads(1)
    outcome = run(tiny(seeds=seeds, epochs=epochs), directory, every=1)
    answer.send((sum(result.trained for result in outcome.results), outcome.busy, outcome.failures))


def work_slowly(directory: str, epochs: int, pause: float, duration: float, answer: Connection) -> None:
    """Run its noisy network in a process of its own, with a pause after each batch and a lease of that duration."""
    lease.DURATION = duration
    torch.set_num_threads(1)
    outcome = run(only_noisy(tiny(epochs=epochs)), directory, every=1, watch=lambda *moment: time.sleep(pause))
    answer.send((outcome.failures, outcome.busy))


def disturbed_work(directory: str, seeds: int, epochs: int, duration: float, limit: int | None) -> None:
    """Run it in a process of its own that may be killed, suspended or short of disk at any moment."""
    lease.DURATION = duration
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    torch.set_num_threads(1)
    run(tiny(seeds=seeds, epochs=epochs), directory, every=1)


def pooled_work(directory: str, seeds: int, epochs: int, duration: float, limit: int | None) -> None:
    """The same by two worker processes, which read the duration of their leases from the environment."""
    lease.DURATION = duration
    os.environ["NOISYRNN_LEASE_SECONDS"] = str(duration)
    run(tiny(seeds=seeds, epochs=epochs), directory, every=1, engine=Joblib(workers=2))


def only_noisy(experiment: Experiment) -> Experiment:
    return experiment.model_copy(update={"recipes": {"nrnn": experiment.recipes["nrnn"]}})


def preloaded() -> ForkServerContext:
    """Processes that start from a server which has imported everything: a start takes milliseconds, not seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["noisyrnn.experiments", "sklearn.datasets"])
    return context
