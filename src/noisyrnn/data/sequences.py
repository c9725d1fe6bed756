"""Series of any kind as one array: x (batch, time, feature), zero after the end of a series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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


@dataclass(frozen=True, kw_only=True)
class Padded:
    """Series of one file, or of a part of it, as long as the longest: zero after their ends."""

    x: NDArray[np.float32]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, x: NDArray[np.float64], lengths: NDArray[np.int64]) -> Padded:
        """In single precision; what is too large for it becomes infinite, and is refused by :func:`assemble`."""
        with np.errstate(over="ignore"):
            return cls(x=x.astype(np.float32), lengths=lengths)

    def unpadded(self) -> Padded:
        """The same, where NaN at the end of a series ends it."""
        time = self.x.shape[1]
        known = ~np.isnan(self.x).all(axis=2) & (np.arange(time) < self.lengths[:, None])
        lengths = np.where(known.any(axis=1), time - known[:, ::-1].argmax(axis=1), 0) if time else self.lengths
        x = np.where((np.arange(time) < lengths[:, None])[..., None], self.x, np.float32(0))
        return Padded(x=x, lengths=lengths.astype(np.int64))


Where = Callable[[int, int, int], str]
"""The place in a file of x[sample, time, feature], as a sentence calls it."""


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
    return assemble([pad(series, file=file)], labels, file=file, padded=padded, gaps=gaps)


def pad(series: Sequence[NDArray[np.float64]], *, file: str) -> Padded:
    """Series (time, feature) side by side.

    >>> pad([np.ones((2, 1)), np.ones((3, 1))], file="own.ts").lengths.tolist()
    [2, 3]
    """
    features = {one.shape[1] for one in series} or {1}
    if len(features) != 1:
        raise DataError(f"{file} mixes series of {sorted(features)} features: all need the same number.")
    lengths = np.array([len(one) for one in series], dtype=np.int64)
    shape = len(series), int(lengths.max(initial=0)), features.pop()
    refuse_padding(shape, file)
    x = np.zeros(shape, dtype=np.float32)
    for index, one in enumerate(series):
        with np.errstate(over="ignore"):  # infinite then, and refused later
            x[index, : len(one)] = one
    return Padded(x=x, lengths=lengths)


def assemble(
    parts: Sequence[Padded],
    labels: Sequence[str] | None,
    *,
    file: str,
    padded: bool = False,
    gaps: bool = False,
    where: Where | None = None,
) -> Sequences:
    """All parts as one array, looked through: there are series, none is empty, and every number is finite.

    With ``gaps`` a number may be missing, NaN.
    """
    parts = [part.unpadded() if padded else part for part in parts if len(part.x)]
    if not parts:
        raise DataError(f"{file} holds no series: it needs at least one.")
    lengths = np.concatenate([part.lengths for part in parts])
    if lengths.min() == 0:
        raise DataError(f"{file}: series {int(lengths.argmin())} (counted from 0) is empty: remove it.")
    shape = len(lengths), int(lengths.max()), parts[0].x.shape[2]
    refuse_padding(shape, file)
    if len(parts) == 1 and parts[0].x.shape == shape:
        x = parts[0].x
    else:
        x, begin = np.zeros(shape, dtype=np.float32), 0
        for part in parts:
            time = min(shape[1], part.x.shape[1])  # of nothing but padding, where a part has more
            x[begin : begin + len(part.x), :time] = part.x[:, :time]
            begin += len(part.x)
    _refuse_unfinite(x, lengths, file, where, gaps)
    equal = bool((lengths == lengths[0]).all())
    return Sequences(x=x, lengths=None if equal else lengths, labels=None if labels is None else tuple(labels))


def _refuse_unfinite(
    x: NDArray[np.float32], lengths: NDArray[np.int64], file: str, where: Where | None, gaps: bool
) -> None:
    allowed = np.isfinite(x)
    if gaps and not allowed.all():
        allowed |= np.isnan(x)
    if allowed.all():
        return
    sample, time, feature = np.argwhere(~allowed)[0].tolist()
    value = x[sample, time, feature]
    hint = "missing" if np.isnan(value) else "infinite or too large"
    ends = np.isnan(x[sample, time : lengths[sample]]).all()
    remedy = "set padded=True if NaN marks the end of a series" if ends else "fill or remove it before loading"
    place = "" if where is None else f", {where(sample, time, feature)}"
    raise DataError(f"{file}{place}: x[{sample}, {time}, {feature}] is {hint}: {remedy}.")


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


def number(cell: Any, *, file: str, where: str | Callable[[], str]) -> float:
    """The cell as a number; an empty cell, ``?`` or None is missing, NaN.

    >>> number(" 1.5 ", file="own.csv", where="line 2"), number("?", file="own.csv", where="line 2")
    (1.5, nan)
    """
    if cell is None or (isinstance(cell, str) and cell.strip() in {"", "?"}):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        place = where() if callable(where) else where
        raise DataError(
            f"{file}, {place}: {str(cell)[:40]!r} is not a number: correct it, or name the label column."
        ) from None


def numbers(cells: Sequence[object], *, file: str, where: str | Callable[[int], str]) -> NDArray[np.float64]:
    """All cells as numbers, by :func:`number`; ``where`` may tell the place of each cell.

    >>> numbers(["1", "", "2e3"], file="own.csv", where="line 2").tolist()
    [1.0, nan, 2000.0]
    """
    try:
        return np.array(cells, dtype=np.float64)  # ten times as fast, where nothing is missing
    except (TypeError, ValueError):
        pass
    places = (partial(where, index) if callable(where) else where for index in range(len(cells)))
    found = [number(cell, file=file, where=place) for cell, place in zip(cells, places, strict=True)]
    return np.array(found, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
