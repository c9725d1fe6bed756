"""A runner that is suspended beyond its lease and woken up when another has finished its work: nothing is wrong.

NOISYRNN_SUSPENSIONS=100 pytest tests/experiments/test_suspended.py     more often, with the same short lease
NOISYRNN_LEASE_SECONDS=120 pytest tests/experiments/test_suspended.py   with the lease that runs really have
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
import torch
from tiny import only_noisy, preloaded, tiny, work_slowly

from noisyrnn.experiments import rows, run
from noisyrnn.experiments.store.run_directory import RunDirectory
from noisyrnn.perturb import White

SUSPENSIONS = int(os.environ.get("NOISYRNN_SUSPENSIONS", "1"))
LEASE = float(os.environ.get("NOISYRNN_LEASE_SECONDS", "1"))
EPOCHS = 25
PATIENCE = 1200  # seconds: a machine may be busy with other things


class Started:
    """The noisy network of the tiny experiment in a process of its own."""

    def __init__(self, directory: Path, pause: float) -> None:
        context = preloaded()
        self.answer, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=work_slowly, args=(str(directory), EPOCHS, pause, LEASE, theirs))
        self.process.start()
        theirs.close()

    def send(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)


def weights(directory: Path, key: str) -> dict[str, torch.Tensor]:
    place = RunDirectory(directory / key)
    done = place.done()
    assert done is not None
    checkpoint = place.network(done)
    assert checkpoint is not None
    return checkpoint.network


@pytest.mark.timeout(PATIENCE + SUSPENSIONS * (60 + 4 * LEASE))
def test_nothing_is_lost_doubled_or_wrong(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    experiment = only_noisy(tiny(epochs=EPOCHS))
    [(_, one)] = experiment.runs()
    run(experiment, tmp_path / "undisturbed")
    later = only_noisy(tiny(epochs=EPOCHS, name="later", measures=(White(sigma=0.3),)))
    run(later, tmp_path / "undisturbed")
    expected = {row.cell: row.value for row in rows(tmp_path / "undisturbed")}
    dice, taken_over = random.Random(0), 0
    for attempt in range(SUSPENSIONS):
        directory = tmp_path / str(attempt)
        first = Started(directory, pause=0.02)
        place = directory / one.key
        while not list(place.glob("state-1*")):
            time.sleep(0.01)
            assert first.process.is_alive()
        time.sleep(dice.uniform(0, 0.6))
        first.send(signal.SIGSTOP)
        try:
            second = Started(directory, pause=0.0)
            assert second.answer.poll(PATIENCE + 4 * LEASE)
            assert second.answer.recv() == ({}, [])
        finally:
            first.send(signal.SIGCONT)
        first.process.join(60)
        taken_over += (place / "claim-2").exists()
        assert run(later, directory).complete
        found = [(row.cell, row.value) for path in place.glob("rows-*.jsonl") for row in rows(path.parent)]
        assert dict(found) == expected
        told = sum(len(path.read_bytes().splitlines()) for path in place.glob("rows-*.jsonl"))
        assert told == len(expected), "a row was written twice"
        after, whole = weights(directory, one.key), weights(tmp_path / "undisturbed", one.key)
        assert all(torch.equal(after[name], whole[name]) for name in whole)
        assert not list(place.glob("lease*"))
        assert not (place / "progress.json").exists()
    assert taken_over >= SUSPENSIONS / 2
