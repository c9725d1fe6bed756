"""The compiled module: whether it is there, how many threads it uses, and memory from its cache."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

_native: ModuleType | None
try:
    _native = import_module("noisyrnn._native")
except ImportError as error:
    _native = None
    _missing = "the kernel was not compiled" if "_native" in str(error) else f"the kernel cannot be loaded ({error})"

_INSTRUCTIONS = "NOISYRNN_INSTRUCTIONS"
_MOST_THREADS = 1024
_CACHED_NUMBERS = 1 << 16  # smaller arrays are no trouble for torch's allocator


def instruction_sets() -> tuple[str, ...]:
    """Those that were compiled and that this processor can run, best first: any of avx512, avx2 and baseline."""
    return () if _native is None else tuple(_native.instruction_sets())


@contextmanager
def instructions(name: str) -> Iterator[None]:
    """Run the kernel inside the ``with`` block by the instruction set of that name, in all threads.

    For a whole process set ``NOISYRNN_INSTRUCTIONS`` instead. Without either the best is taken.
    """
    before = module().instruction_set()
    module().choose_instruction_set(name)
    try:
        yield
    finally:
        module().choose_instruction_set(before)


def available() -> bool:
    """Whether the kernel is compiled and not switched off by ``NOISYRNN_NATIVE=0``."""
    return _native is not None and os.environ.get("NOISYRNN_NATIVE", "1") != "0"


def status() -> str:
    """One sentence: the instruction set in use, or why there is none."""
    if _native is None:
        return f"Native kernel off: {_missing}."
    if not available():
        return "Native kernel off: NOISYRNN_NATIVE=0 is set."
    return f"Native kernel on: {_native.instruction_set()} instructions."


def threads() -> int:
    """Threads of the kernel: ``NOISYRNN_THREADS`` if it is set, else torch's own number.

    No result of the kernel depends on it. torch's products (a readout's, say) may differ in the last bit with torch's
    number of threads; with one thread for torch and several for the kernel, training is bitwise the same for any.
    """
    wanted = os.environ.get("NOISYRNN_THREADS")
    if wanted is None:
        return torch.get_num_threads()
    if not (wanted.isascii() and wanted.isdigit()) or len(wanted) > 4 or not 1 <= int(wanted) <= _MOST_THREADS:
        raise ValueError(f"NOISYRNN_THREADS must be a whole number from 1 to {_MOST_THREADS}, got {wanted[:40]!r}.")
    return int(wanted)


def multiply_adds(rounds: int) -> float:
    """Floating-point operations done in registers, for a benchmark to time: what the processor can do at most."""
    return float(module().multiply_adds(rounds))


def module() -> Any:
    """The compiled module, or an error that says why there is none."""
    if _native is None or not available():
        raise RuntimeError(status())
    return _native


def _obey(wanted: str | None) -> None:
    """Take the instruction set that the environment names; a name that cannot be run is refused."""
    if _native is None or wanted is None:
        return
    if wanted not in instruction_sets():
        raise ValueError(f"{_INSTRUCTIONS} must be one of {', '.join(instruction_sets())} here, got {wanted!r}.")
    _native.choose_instruction_set(wanted)


_obey(os.environ.get(_INSTRUCTIONS))


def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Uninitialised; large arrays from the kernel's cache, because fresh pages cost a fault each."""
    if torch.Size(shape).numel() < _CACHED_NUMBERS:
        return torch.empty(shape, dtype=dtype)
    return torch.from_dlpack(module().empty(list(shape), dtype == torch.float64))
