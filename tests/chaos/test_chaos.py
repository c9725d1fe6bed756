"""A sweep under random faults ends as an undisturbed one: every row once, bit by bit.

Drivers share one directory; at random moments one of them is killed, or suspended beyond its lease and woken up, one
more is started, one works on a disk that is full, and the times of lease files are turned by hours. Only processes that
this test has started are touched.

    make chaos    # 42 runs and 200 faults; NOISYRNN_CHAOS_SEEDS and NOISYRNN_CHAOS_FAULTS say how many here
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from comparison import compare
from tiny import disturbed_work, preloaded, tiny

from noisyrnn.experiments import rows, run

SEEDS = int(os.environ.get("NOISYRNN_CHAOS_SEEDS", "1"))
FAULTS = int(os.environ.get("NOISYRNN_CHAOS_FAULTS", "12"))
DICE = int(os.environ.get("NOISYRNN_DICE", "0"))
EPOCHS = 6
LEASE = 1.0


class Drivers:
    """Processes that run the sweep in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.alive, self.asleep = directory, list[BaseProcess](), dict[BaseProcess, float]()

    def start(self, limit: int | None = None) -> None:
        arguments = (str(self.directory), SEEDS, EPOCHS, LEASE, limit)
        process = preloaded().Process(target=disturbed_work, args=arguments)
        process.start()
        self.alive.append(process)

    def signal(self, process: BaseProcess, number: int) -> None:
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, number)

    def tidy(self) -> None:
        """Wakes up who has slept beyond its lease, and forgets the dead."""
        now = time.monotonic()
        for process, until in list(self.asleep.items()):
            if now > until:
                self.signal(process, signal.SIGCONT)
                del self.asleep[process]
        self.alive = [process for process in self.alive if process.is_alive()]

    def end(self) -> None:
        for process in self.alive:
            self.signal(process, signal.SIGCONT)
            process.kill()
            process.join()


def fault(drivers: Drivers, dice: random.Random) -> str:
    """One fault, by its name."""
    awake = [process for process in drivers.alive if process not in drivers.asleep]
    kind = dice.choice(["kill", "kill", "suspend", "suspend", "second driver", "clock", "full disk"])
    if kind in ("kill", "suspend") and not awake:
        kind = "second driver"
    if kind == "kill":
        victim = dice.choice(awake)
        drivers.signal(victim, signal.SIGKILL)
        victim.join()
    elif kind == "suspend":
        victim = dice.choice(awake)
        drivers.signal(victim, signal.SIGSTOP)
        drivers.asleep[victim] = time.monotonic() + dice.uniform(1.5, 3) * LEASE
    elif kind == "second driver":
        drivers.start()
    elif kind == "full disk":
        drivers.start(limit=dice.choice([2000, 20_000]))
    else:
        for marker in drivers.directory.rglob("lease"):
            turned = time.time() + dice.choice([-1, 1]) * dice.uniform(1, 9) * 3600
            try:
                os.utime(marker, (turned, turned))
            except OSError:
                continue
    return kind


@pytest.mark.timeout(300 + 10 * FAULTS + 60 * SEEDS)
def test_a_sweep_under_faults_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    experiment = tiny(seeds=SEEDS, epochs=EPOCHS)
    assert run(experiment, tmp_path / "undisturbed").complete
    expected = {row.cell: row.value for row in rows(tmp_path / "undisturbed")}
    dice, count = random.Random(DICE), Counter[str]()
    while sum(count.values()) < FAULTS:  # more faults than one sweep lasts: another sweep
        directory = tmp_path / f"disturbed-{sum(count.values())}"
        disturb(directory, dice, count, runs=len(expected) // 2)
        print(directory.name, dict(count))
        outcome = run(experiment, directory)
        assert outcome.complete, outcome.failures
        compare(directory, tmp_path / "undisturbed")


def disturb(directory: Path, dice: random.Random, count: Counter[str], *, runs: int) -> None:
    """A sweep by several drivers, with faults until there are enough or all runs are trained."""
    drivers = Drivers(directory)
    try:
        drivers.start()
        while sum(count.values()) < FAULTS and len(list(directory.rglob("DONE"))) < runs:
            time.sleep(dice.uniform(0.05, 0.5))
            drivers.tidy()
            if len([process for process in drivers.alive if process not in drivers.asleep]) < 2:
                drivers.start()
            if len(drivers.alive) < 6:
                count[fault(drivers, dice)] += 1
    finally:
        drivers.end()
