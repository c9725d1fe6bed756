"""Published networks by name, such as ordered-mnist/noisy-0.02-0.05-100-epochs-seed-0."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from noisyrnn.checkpoint import Checkpoint, load
from noisyrnn.experiments import Record, Run
from noisyrnn.rnn import Classifier

RESULTS = Path(__file__).resolve().parents[1] / "results"


@cache
def published() -> Record:
    """The project's record."""
    return Record(RESULTS)


def network(name: str) -> Classifier:
    """The network of that name, without its noise."""
    _refuse_unknown(name)
    return published().network(name)


def run_of(name: str) -> Run:
    """How the network of that name was trained: data, model, training, seed."""
    _refuse_unknown(name)
    return published().run(name)


def state_of(name: str) -> Checkpoint:
    """The state from which its training can be continued: before its last decay, or its end if it has none."""
    _refuse_unknown(name)
    return load(published().state_path(published().line(name)))


def path_of(name: str) -> Path:
    """The file that holds the network."""
    _refuse_unknown(name)
    return published().network_path(published().line(name))


def names(task: str) -> list[str]:
    """All published networks of ecg, ordered-mnist or permuted-mnist."""
    return published().names(task)


def _refuse_unknown(name: str) -> None:
    try:
        published().line(name)
    except ValueError as error:
        raise SystemExit(str(error)) from error
