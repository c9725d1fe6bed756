"""Series of any kind as one array: x (batch, time, feature), zero after the end of a series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import refuse_beyond


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """What a file holds: x in single precision, ``lengths`` where they differ, labels if any."""

    x: NDArray[np.float32]
    lengths: NDArray[np.int64] | None
    labels: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.x)


def stack(
    series: Sequence[NDArray[np.float64]],
    labels: Sequence[str] | None,
    *,
    file: str,
    padded: bool = False,
    gaps: bool = False,
) -> Sequences:
    """One array of all series (time, feature); with ``padded``, NaN at the end of a series ends it.

    With ``gaps`` other values may be missing, too, and stay NaN.

    >>> both = stack([np.ones((2, 1)), np.ones((3, 1))], ["a", "b"], file="own.ts")
    >>> both.x[..., 0].tolist(), both.lengths.tolist()
    ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], [2, 3])
    """
    if not series:
        raise DataError(f"{file} holds no series: it needs at least one.")
    if padded:
        series = [_unpad(one) for one in series]
    features = {one.shape[1] for one in series}
    if len(features) != 1:
        raise DataError(f"{file} mixes series of {sorted(features)} features: all need the same number.")
    lengths = np.array([len(one) for one in series], dtype=np.int64)
    if lengths.min() == 0:
        raise DataError(f"{file}: series {int(lengths.argmin())} (counted from 0) is empty: remove it.")
    shape = len(series), int(lengths.max()), features.pop()
    refuse_padding(shape, file)
    x = np.zeros(shape, dtype=np.float32)
    for index, one in enumerate(series):
        with np.errstate(over="ignore"):  # too large for single precision becomes infinite, and is refused below
            x[index, : len(one)] = one
    if not (np.isfinite(x) | (gaps & np.isnan(x))).all():
        sample, time, feature = np.argwhere(~(np.isfinite(x) | (gaps & np.isnan(x))))[0].tolist()
        value = x[sample, time, feature]
        hint = "missing" if np.isnan(value) else "infinite or too large"
        ends = np.isnan(x[sample, time : lengths[sample]]).all()
        remedy = "set padded=True if NaN marks the end of a series" if ends else "fill or remove it before loading"
        raise DataError(f"{file}: x[{sample}, {time}, {feature}] is {hint}: {remedy}.")
    equal = bool((lengths == lengths[0]).all())
    return Sequences(x=x, lengths=None if equal else lengths, labels=None if labels is None else tuple(labels))


def refuse_padding(shape: tuple[int, int, int], file: str) -> None:
    """Nothing, if all series take an allowed amount of memory when each is as long as the longest."""
    longest = f"{file}, with each of its {shape[0]} series as long as the longest ({shape[1]} instants), takes"
    refuse_beyond(np.dtype(np.float32).itemsize * math.prod(shape), longest)


def classes(labels: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Class names in order, and the index of each label; numbers are ordered as numbers and lose a ``.0``.

    >>> names, y = classes(["10", "2.0", "2"])
    >>> names, y.tolist()
    (('2', '10'), [1, 0, 0])
    """
    if all(_is_number(label) for label in labels):
        labels = [f"{float(label):g}" for label in labels]
        names = sorted(set(labels), key=float)
    else:
        labels = [label.strip() for label in labels]
        names = sorted(set(labels))
    index = {name: number for number, name in enumerate(names)}
    return tuple(names), np.array([index[label] for label in labels], dtype=np.int64)


def number(cell: Any, *, file: str, where: str) -> float:
    """The cell as a number; an empty cell, ``?`` or None is missing, NaN.

    >>> number(" 1.5 ", file="own.csv", where="line 2"), number("?", file="own.csv", where="line 2")
    (1.5, nan)
    """
    if cell is None or (isinstance(cell, str) and cell.strip() in {"", "?"}):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise DataError(
            f"{file}, {where}: {str(cell)[:40]!r} is not a number: correct it, or name the label column."
        ) from None


def numbers(cells: Sequence[object], *, file: str, where: str) -> NDArray[np.float64]:
    """All cells as numbers, by :func:`number`.

    >>> numbers(["1", "", "2e3"], file="own.csv", where="line 2").tolist()
    [1.0, nan, 2000.0]
    """
    try:
        return np.array(cells, dtype=np.float64)  # ten times as fast, where nothing is missing
    except (TypeError, ValueError):
        return np.array(
            [number(cell, file=file, where=f"{where}, value {index}") for index, cell in enumerate(cells, 1)],
            dtype=np.float64,
        )


def _unpad(one: NDArray[np.float64]) -> NDArray[np.float64]:
    known = np.flatnonzero(~np.isnan(one).all(axis=1))
    return one[: known[-1] + 1] if len(known) else one[:0]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
