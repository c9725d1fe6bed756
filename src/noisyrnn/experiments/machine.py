"""On which kind of machine a network was trained."""

from __future__ import annotations

import platform
from pathlib import Path

import torch


def machine() -> str:
    """Kind of processor and number of threads: what a bitwise repetition needs, and nothing that names a computer.

    >>> machine().endswith(("thread", "threads"))
    True
    """
    kind = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        kind = named[0] if named else kind
    threads = torch.get_num_threads()
    return f"{kind}, {threads} thread{'s' if threads > 1 else ''}"
