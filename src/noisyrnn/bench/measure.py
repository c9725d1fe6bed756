"""Measuring: contenders take turns for several rounds, so that a busy moment hits all of them.

Each case is measured in a process of its own, on as many cores as it has threads, with denormal numbers flushed to zero
for everybody: gradients that vanish would slow down those who do not flush them by a factor of up to ten.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from noisyrnn.bench.case import BASE, EAGER, JAX, KERNEL, PLAIN, Case, cases
from noisyrnn.bench.limits import Limits, clock, limits
from noisyrnn.bench.peers import CONTENDERS, Work, present
from noisyrnn.bench.spread import Spread, ratio
from noisyrnn.setting import Setting

Progress = Callable[[str], None]

_AT_LEAST = 0.4  # seconds that each contender works in a turn
_SLOW = 10.0  # seconds from which on a contender works once only: its ratio is clear anyway
SAME_WORK = (KERNEL, EAGER, PLAIN, JAX)


class Measurement(Setting):
    """One contender on one case: seconds in each round, and peak extra memory of a training step in bytes."""

    contender: str
    case: Case
    train: tuple[float, ...]
    forward: tuple[float, ...]
    limits: tuple[Limits, ...]
    """What the machine could do in each round: clocks change from one minute to the next."""
    memory: int | None = None

    @property
    def share(self) -> Spread | None:
        """Part of the rate of large matrix products that a training step reaches, if it does the kernel's work."""
        return self._share_of([one.sgemm for one in self.limits])

    @property
    def share_of_peak(self) -> Spread | None:
        """Part of what the processor could do at most."""
        return self._share_of([one.peak for one in self.limits if one.peak is not None])

    def _share_of(self, rates: list[float]) -> Spread | None:
        comparable = self.contender in SAME_WORK and not self.case.double
        return ratio(tuple(self.case.flops / rate for rate in rates), self.train) if comparable else None


def bench(
    *,
    full: bool = False,
    rounds: int = 5,
    memory: bool = True,
    chosen: list[tuple[Case, tuple[str, ...]]] | None = None,
    known: list[Measurement] | None = None,
    progress: Progress = lambda line: None,
    save: Callable[[list[Measurement]], None] = lambda found: None,
) -> list[Measurement]:
    """All measurements, case by case: what is ``known`` is not measured again, and ``save`` is called after each."""
    found = list(known or [])
    for case, names in chosen or cases(full):
        if any(one.case == case for one in found):
            continue
        found += _in_a_process(case, names, rounds, memory, progress)
        save(found)
    return found


def _in_a_process(
    case: Case, names: tuple[str, ...], rounds: int, memory: bool, progress: Progress
) -> list[Measurement]:
    order = json.dumps({"case": case.model_dump(), "names": names, "rounds": rounds})
    command = [sys.executable, "-m", "noisyrnn.bench.worker", order]
    found: list[Measurement] = []
    last = "no message"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as worker:
        for line in worker.stdout or ():
            if line.startswith("{"):
                found.append(Measurement.model_validate_json(line))
            else:
                last = line.strip() or last
                progress(f"{case}: {last}")
    if worker.returncode != 0:
        raise RuntimeError(f"The measurement of {case} failed: {last}")
    if memory and case == BASE:
        found = [one.model_copy(update={"memory": peak_memory(one.contender, case)}) for one in found]
    return found


def measured(case: Case, names: tuple[str, ...], rounds: int, progress: Progress) -> list[Measurement]:
    """All contenders on one case, in this process: threads and denormals are the caller's business."""
    works: dict[str, Work] = {}
    for name in names:
        if not present(name):
            progress(f"{name} is not installed, left out")
            continue
        try:
            work = CONTENDERS[name][0](case)
            work.forward()
        except ValueError as refusal:
            progress(f"{name}: {refusal}")
        else:
            works[name] = work
    found: list[Limits] = []
    times: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds):
        for name, work in works.items():
            for kind in ("train", "forward"):
                so_far = times.setdefault((name, kind), [])
                if so_far and so_far[0] > _SLOW:
                    continue
                progress(f"round {turn + 1} of {rounds}, {name}, {kind}")
                so_far.append(_seconds(getattr(work, kind), case.threads))
        progress(f"round {turn + 1} of {rounds}, limits of the machine")
        found.append(limits(case.threads))
    return [
        Measurement(
            contender=name, case=case, train=tuple(times[name, "train"]), forward=tuple(times[name, "forward"]),
            limits=tuple(found),
        )
        for name in works
    ]  # fmt: skip


def _seconds(action: Callable[[], Any], threads: int) -> float:
    """Seconds of a repetition in a turn: by the processor's clock the mean, by the wall's the least.

    The processor's clock does not see others at work, but may be off by a little after each interruption; the wall's
    sees them, so that the fastest repetition counts.
    """
    gc.collect()
    action()  # not counted: memory that was given back while others worked is there again afterwards, as in a training
    times: list[float] = []
    start = before = clock(threads)
    while before - start < _AT_LEAST:
        action()
        now = clock(threads)
        times.append(now - before)
        before = now
    return sum(times) / len(times) if threads == 1 else min(times)


def peak_memory(name: str, case: Case) -> int | None:
    """Bytes that a training step needs beyond what is resident before it, in a process of its own (Linux only)."""
    order = json.dumps({"case": case.model_dump(), "peak": name})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "noisyrnn.bench.worker", order],
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        return int(json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, ValueError, IndexError):
        return None
