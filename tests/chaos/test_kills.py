"""kill -9 at random moments, of a serial driver, of one of two drivers, of a joblib driver or one of its workers.

    make kills    # 1,000 of them; NOISYRNN_KILLS says how many of each kind here

A sweep that was killed often enough to end is compared, bit by bit, with one that nobody disturbed, and the next one
begins. Pauses between kills are in proportion to how long that one took, so that on a busy machine, too, they fall on
all that a sweep does. Only processes that this test has started are touched.
"""

from __future__ import annotations

import os
import random
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from comparison import compare
from tiny import disturbed_work, pooled_work, preloaded, tiny

from noisyrnn.experiments import Experiment, run
from noisyrnn.experiments.store import lease

KILLS = int(os.environ.get("NOISYRNN_KILLS", "3"))
DICE = int(os.environ.get("NOISYRNN_DICE", "0"))
SEEDS, EPOCHS, LEASE = 1, 12, 1.0


def children(process: BaseProcess) -> list[int]:
    """Process numbers of the workers that a driver has started."""
    try:
        found = Path(f"/proc/{process.pid}/task").glob("*/children")
        return [int(pid) for path in found for pid in path.read_text().split()]
    except OSError:
        return []


def start(way: str, directory: Path) -> list[BaseProcess]:
    target, drivers = (pooled_work, 1) if way == "joblib" else (disturbed_work, 2 if way == "two drivers" else 1)
    processes: list[BaseProcess] = []
    for _ in range(drivers):
        process = preloaded().Process(target=target, args=(str(directory), SEEDS, EPOCHS, LEASE, None))
        process.start()
        processes.append(process)
    return processes


def kill_one(processes: list[BaseProcess], way: str, dice: random.Random) -> bool:
    """Whether somebody was still there to be killed."""
    victim = dice.choice(processes)
    workers = children(victim) if way == "joblib" else []
    pid = dice.choice(workers) if workers and dice.random() < 0.7 else victim.pid
    if not victim.is_alive() or pid is None:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def undisturbed(way: str, directory: Path) -> float:
    """Seconds of a whole sweep."""
    first = preloaded().Process(target=int)  # waits until the server has imported everything
    first.start()
    first.join()
    began = time.monotonic()
    for process in start(way, directory):
        process.join()
        assert process.exitcode == 0
    return time.monotonic() - began


def finish(experiment: Experiment, directory: Path) -> None:
    """The rest of a sweep; workers need seconds to see that their driver is gone, and hold their runs until then."""
    until = time.monotonic() + 120
    while not (outcome := run(experiment, directory)).complete:
        assert not outcome.failures, outcome.failures
        assert time.monotonic() < until, f"held by nobody: {outcome.busy}"


@pytest.mark.timeout(300 + 60 * KILLS)
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="workers are found as on Linux")
@pytest.mark.parametrize("way", ["serial", "two drivers", "joblib"])
def test_kills_at_random_moments_lose_and_double_nothing(way: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(lease, "DURATION", LEASE)
    torch.set_num_threads(1)
    experiment = tiny(seeds=SEEDS, epochs=EPOCHS)
    spent = undisturbed(way, tmp_path / "undisturbed")
    longest = spent if way == "joblib" else spent / 4  # a pool takes most of it to begin; others go on where they were
    dice, killed, sweeps = random.Random(f"{way} {DICE}"), 0, 0
    while killed < KILLS:
        directory, over = tmp_path / f"killed-{sweeps}", False
        sweeps += 1
        processes: list[BaseProcess] = []
        try:
            while killed < KILLS and not over:
                processes = [process for process in processes if process.is_alive()] or start(way, directory)
                began = time.monotonic()
                pause = dice.uniform(0.02, longest)
                while time.monotonic() - began < pause and any(process.is_alive() for process in processes):
                    time.sleep(0.02)
                over = any(process.exitcode == 0 for process in processes)
                killed += not over and kill_one(processes, way, dice)
        finally:
            for process in processes:
                process.kill()
                process.join()
        finish(experiment, directory)
        compare(directory, tmp_path / "undisturbed")
    print(f"{way}: {killed} kills, {sweeps} sweeps of {spent:.1f} s")
