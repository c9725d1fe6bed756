"""What the machine can do: its multiply-adds in registers, and its library's large matrix product."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from noisyrnn.rnn import native
from noisyrnn.setting import Setting


class Limits(Setting):
    """Floating-point operations a second in single precision, by all threads of a case together."""

    peak: float | None
    """Multiply-adds in registers, by the kernel's instructions; None without the kernel."""
    sgemm: float


class Machine(Setting):
    """Where measurements were made."""

    processor: str
    cores: int
    instructions: str
    torch: str
    products: str
    """What torch's library of matrix products says of itself."""
    load: float
    """How many processes wanted to run when the measurements began, this one not counted."""


def machine() -> Machine:
    """This machine, as it is now."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        instructions=native.status().removesuffix("."),
        torch=str(torch.__version__),
        products=_products(),
        load=round(os.getloadavg()[0], 2),
    )


def clock(threads: int) -> float:
    """Seconds: of the processor where there is one thread, so that a busy machine does not decide; else by the wall."""
    return time.process_time() if threads == 1 else time.perf_counter()


def limits(threads: int, *, repeats: int = 3) -> Limits:
    """Both limits, the best of several attempts; torch has been given the number of threads before."""
    peak = max(_peak(threads) for _ in range(repeats)) if native.available() else None
    return Limits(peak=peak, sgemm=_sgemm(threads, repeats))


def _sgemm(threads: int, repeats: int, side: int = 2048) -> float:
    a, b = torch.rand(side, side), torch.rand(side, side)
    torch.mm(a, b)
    best = math.inf
    for _ in range(repeats):
        start = clock(threads)
        torch.mm(a, b)
        best = min(best, clock(threads) - start)
    return 2 * side**3 / best


def _peak(threads: int, rounds: int = 20_000_000) -> float:
    with ThreadPoolExecutor(threads) as pool:
        start = clock(threads)
        done = sum(pool.map(native.multiply_adds, [rounds] * threads))
        return done / (clock(threads) - start)


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _products() -> str:
    """The first line that the library prints when asked to be verbose, without its preamble."""
    if not torch.backends.mkl.is_available():
        return "not MKL"
    code = "import torch; torch.mm(torch.ones(64, 64), torch.ones(64, 64))"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "MKL_VERBOSE": "1"}
    )
    first = next((line for line in told.stdout.splitlines() if line.startswith("MKL_VERBOSE")), "MKL")
    return first.removeprefix("MKL_VERBOSE ").split(", Lnx")[0]
