"""What is measured: sizes of the work, and which contenders do it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from noisyrnn.setting import Setting


class Model(StrEnum):
    """The network of a case: the paper's noisy RNN, the same with its noise off, or a model without noise."""

    NOISY = "noisy"
    SILENT = "silent"
    CORNN = "cornn"
    EXPRNN = "exprnn"
    CERTIFIED = "certified"


class Case(Setting):
    """A size of the work: ``steps`` inputs of ``inputs`` numbers, for ``batch`` sequences and ``hidden`` units."""

    steps: int = 784
    hidden: int = 128
    batch: int = 128
    threads: int = 2
    inputs: int = 1
    model: Model = Model.NOISY
    bidirectional: bool = False
    double: bool = False
    chunk: int | None = None

    @property
    def flops(self) -> float:
        """Operations of a training step: two n x n products forward (expRNN: one), and twice that backward.

        The certified RNN has half as many outputs as states, and one product of 3 n / 2 rows.
        """
        products = {Model.EXPRNN: 1.0, Model.CERTIFIED: 1.5}.get(self.model, 2.0)
        directions = 2 if self.bidirectional else 1
        return 3.0 * 2 * directions * products * self.batch * self.steps * self.hidden**2

    def __str__(self) -> str:
        parts = [f"T {self.steps}", f"hidden {self.hidden}", f"batch {self.batch}"]
        if self.inputs > 1:
            parts.append(f"{self.inputs} inputs")
        if self.model is not Model.NOISY:
            parts.append(_SHOWN[self.model])
        parts += ["bidirectional"] * self.bidirectional + ["float64"] * self.double
        if self.chunk is not None:
            parts.append(f"a state kept every {self.chunk} steps")
        return ", ".join([*parts, f"{self.threads} thread{'s' * (self.threads > 1)}"])


_SHOWN = {
    Model.SILENT: "noise off", Model.CORNN: "coRNN", Model.EXPRNN: "expRNN", Model.CERTIFIED: "certified"
}  # fmt: skip
BASE = Case()
BUILDING = "building K"
KERNEL, EAGER, PLAIN, JAX, RNN = "kernel", "eager", "plain loop", "jax.lax.scan", "torch.nn.RNN"
FEW = (KERNEL, EAGER, PLAIN, JAX, RNN)
MOST = (*FEW, "torch.nn.GRU", "torch.nn.LSTM", "torchrecurrent antisymmetric")
ALL = (*MOST, "torchsde Euler")  # the last takes hundreds of times as long
_BESIDE_THE_PLAIN_LOOP = (KERNEL, PLAIN)


def varied(**change: Any) -> Case:
    """The base case with something changed.

    >>> str(varied(batch=1, threads=1))
    'T 784, hidden 128, batch 1, 1 thread'
    """
    return Case(**{**BASE.model_dump(), **change})


def cases(full: bool) -> list[tuple[Case, tuple[str, ...]]]:
    """Which contenders run on which case: everything on the base case, with one thread and with two."""
    found: list[tuple[Case, tuple[str, ...]]] = [(BASE, ALL if full else MOST), (varied(threads=1), MOST)]
    found.append((varied(batch=1, model=Model.SILENT, threads=1), _BESIDE_THE_PLAIN_LOOP))
    found.append((varied(steps=5000), _BESIDE_THE_PLAIN_LOOP))
    found += [(varied(**change, model=Model.CERTIFIED), names) for change, names in _CERTIFIED]
    if full:
        found += [(varied(**change, threads=1), FEW) for change in _SHAPES]
        found += [(varied(**change, threads=2), FEW) for change in _SHAPES[:4]]
        found.append((varied(steps=140, model=Model.SILENT, threads=1), (KERNEL, EAGER, PLAIN)))
        found += [(varied(**change, threads=1), _BESIDE_THE_PLAIN_LOOP) for change in _OTHERS]
        found += [(varied(steps=steps, chunk=chunk, batch=16), (KERNEL,)) for steps, chunk in LONG]
    return found


LONG = ((5000, 71), (100_000, 316))
"""Steps, and the square root of that: the distance of the states that are kept."""

# Those of the literature, and those of small archives of time series.
_SHAPES: list[dict[str, Any]] = [
    {"steps": 140, "hidden": 512},
    {"steps": 140, "hidden": 256},
    {"steps": 140, "hidden": 32},
    {"steps": 140, "hidden": 32, "batch": 1},
    {"steps": 140, "hidden": 512, "batch": 1},
    {"steps": 140, "hidden": 128, "batch": 1},
    {"steps": 140, "hidden": 128, "batch": 512},
    {"steps": 24, "hidden": 32, "batch": 16, "inputs": 3},
    {"steps": 140, "hidden": 64, "batch": 32},
    {"steps": 500, "hidden": 64, "batch": 16, "inputs": 12},
    {"steps": 140, "hidden": 64, "batch": 32, "bidirectional": True},
]
_OTHERS: list[dict[str, Any]] = [
    {"steps": 140, "model": Model.CORNN},
    {"steps": 140, "model": Model.EXPRNN},
    {"steps": 140, "model": Model.EXPRNN, "batch": 1},
    {"steps": 140, "double": True},
]

SHORT: dict[str, Any] = {"steps": 140, "batch": 32, "threads": 1}
"""Where the building of matrices is a large part of a training step."""
_CERTIFIED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"threads": 1}, _BESIDE_THE_PLAIN_LOOP),
    ({"threads": 2}, _BESIDE_THE_PLAIN_LOOP),
    ({"threads": 1, "batch": 1}, _BESIDE_THE_PLAIN_LOOP),
    (SHORT, (KERNEL, BUILDING)),
]
