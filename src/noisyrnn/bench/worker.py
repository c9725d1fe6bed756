"""The process that measures one case: an order as JSON in; progress, and a line for each measurement, out."""

from __future__ import annotations

import gc
import json
import os
import sys

import torch

from noisyrnn.bench.case import Case
from noisyrnn.bench.measure import measured
from noisyrnn.bench.peers import CONTENDERS


def main(order: str) -> None:
    """Carry out an order: measure a case, or say how much memory one contender needs."""
    wanted = json.loads(order)
    case = Case.model_validate(wanted["case"])
    # Before any pool of threads is made: they inherit both.
    _keep_to(case.threads)
    torch.set_flush_denormal(True)
    torch.set_num_threads(case.threads)
    torch.manual_seed(0)
    if "peak" in wanted:
        print(_peak(wanted["peak"], case))
        return
    for one in measured(case, tuple(wanted["names"]), wanted["rounds"], lambda line: print(line, flush=True)):
        print(one.model_dump_json(), flush=True)


def _keep_to(threads: int) -> None:
    """Run on so many cores only, because not every contender can be told otherwise."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _peak(name: str, case: Case) -> int:
    make = CONTENDERS[name][0]
    # A tiny step first, so that loading and compiling are not counted.
    make(case.model_copy(update={"steps": 2})).train()
    work = make(case)
    gc.collect()
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    work.train()
    return max(0, _status("VmHWM") - before)


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field + ":"))


if __name__ == "__main__":
    main(sys.argv[1])
