"""Measuring: contenders take turns, so that a busy moment hits all of them; the best of several rounds counts."""

from __future__ import annotations

import gc
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from noisyrnn.bench.peers import CONTENDERS, Problem, Work, present, sgemm_rate
from noisyrnn.setting import Setting


class Case(Setting):
    """A problem size and a number of threads."""

    steps: int = 784
    hidden: int = 128
    batch: int = 128
    threads: int = 2

    @property
    def problem(self) -> Problem:
        return Problem(self.steps, self.hidden, self.batch)

    def __str__(self) -> str:
        return (
            f"T {self.steps}, hidden {self.hidden}, batch {self.batch}, {self.threads} thread{'s' * (self.threads > 1)}"
        )


class Measurement(Setting):
    """One contender on one case: seconds, share of the matrix-product rate, peak extra memory in bytes."""

    contender: str
    case: Case
    train: float | None
    forward: float | None
    share: float | None = None
    memory: int | None = None
    sgemm: float


BASE = Case()
_AT_LEAST = 0.3  # seconds that each contender works in a turn
QUICK = ["kernel", "eager", "plain loop", "jax.lax.scan", "torch.nn.RNN", "torch.nn.LSTM"]


def cases(full: bool) -> list[tuple[Case, list[str]]]:
    """Which contenders run on which case: everything on the base case, ours and the plain loop along each axis."""
    pair = ["kernel", "plain loop"]
    vary: list[dict[str, Any]] = [{"threads": 1}, {"batch": 1}, {"steps": 5000}]
    if full:
        pair = QUICK
        vary += [{"steps": 100}, *({"hidden": n} for n in (64, 256, 512)), *({"batch": b} for b in (32, 512))]
    everything = list(CONTENDERS)
    return [(BASE, everything)] + [(Case(**{**BASE.model_dump(), **change}), pair) for change in vary]


def bench(
    *,
    full: bool = False,
    rounds: int = 5,
    memory: bool = True,
    chosen: list[tuple[Case, list[str]]] | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Measurement]:
    """All measurements, case by case."""
    before = torch.get_num_threads()
    try:
        return [
            found for case, names in chosen or cases(full) for found in _case(case, names, rounds, memory, progress)
        ]
    finally:
        torch.set_num_threads(before)


def _case(
    case: Case, names: list[str], rounds: int, memory: bool, progress: Callable[[str], None]
) -> Iterator[Measurement]:
    torch.set_num_threads(case.threads)
    present_names = [name for name in names if present(name)]
    for name in sorted(set(names) - set(present_names)):
        progress(f"{name}: not installed, left out")
    works: dict[str, Work] = {}
    for name in present_names:
        try:
            works[name] = CONTENDERS[name][0](case.problem)
            works[name].forward()
        except ValueError as refusal:
            works.pop(name, None)
            progress(f"{name}: {refusal}")
    rates = [sgemm_rate()]
    times: dict[tuple[str, str], float] = {}
    slow: set[tuple[str, str]] = set()
    for turn in range(rounds):
        for name, work in works.items():
            for kind, action in (("train", work.train), ("forward", work.forward)):
                # A contender that takes many seconds is timed once only: its ratio is clear anyway.
                if action is None or (name, kind) in slow:
                    continue
                progress(f"{case}: round {turn + 1} of {rounds}, {name}, {kind}")
                seconds = _seconds(action)
                times[name, kind] = min(seconds, times.get((name, kind), math.inf))
                if seconds > 10:
                    slow.add((name, kind))
        rates.append(sgemm_rate(repeats=2))
    rate = max(rates)
    for name in works:
        train = times.get((name, "train"))
        yield Measurement(
            contender=name, case=case, train=train, forward=times.get((name, "forward")), sgemm=rate,
            share=case.problem.flops / train / rate if train and name in _SAME_WORK else None,
            memory=peak_memory(name, case) if memory and case == BASE else None,
        )  # fmt: skip


_SAME_WORK = ("kernel", "eager", "plain loop", "jax.lax.scan")


def _seconds(action: Callable[[], Any]) -> float:
    """Seconds of the fastest repetition; short work is repeated, so that a busy moment does not decide."""
    gc.collect()
    best, start = math.inf, time.perf_counter()
    before = start
    while before - start < _AT_LEAST:
        action()
        now = time.perf_counter()
        best, before = min(best, now - before), now
    return best


def peak_memory(name: str, case: Case) -> int | None:
    """Bytes that a training step needs beyond what is resident before it, in a process of its own (Linux only)."""
    code = f"from noisyrnn.bench.measure import _report_peak; _report_peak({name!r}, {case.model_dump_json()!r})"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
        return int(json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, ValueError, IndexError):
        return None


def _report_peak(name: str, case_json: str) -> None:
    case = Case.model_validate_json(case_json)
    torch.set_num_threads(case.threads)
    make = CONTENDERS[name][0]
    # A tiny step first, so that loading and compiling are not counted.
    tiny = make(Problem(2, case.hidden, case.batch))
    if tiny.train is not None:
        tiny.train()
    work = make(case.problem)
    gc.collect()
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    if work.train is not None:
        work.train()
    print(json.dumps(max(0, _status("VmHWM") - before)))


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field + ":"))
