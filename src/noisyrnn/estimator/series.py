"""Series as users have them, (n, T), (n, channels, T), a list of (channels, T_i) or a frame, as one padded array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """x (n, T, channels), 0 after the end of a series; ``lengths`` (n) where they differ; ``form`` as it was given."""

    x: Array
    lengths: NDArray[np.int64] | None
    form: str

    def __len__(self) -> int:
        return len(self.x)

    @property
    def channels(self) -> int:
        return self.x.shape[2]

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(n, T): which instants belong to a series."""
        if self.lengths is None:
            return np.ones(self.x.shape[:2], dtype=bool)
        return np.arange(self.x.shape[1]) < self.lengths[:, None]

    def with_x(self, x: Array) -> Series:
        """The same series with other values."""
        return replace(self, x=x)

    def part(self, index: NDArray[np.int64]) -> Series:
        """The series of these indices."""
        return replace(self, x=self.x[index], lengths=None if self.lengths is None else self.lengths[index])

    def as_given(self) -> Any:
        """The values in the form in which they were given."""
        turned = self.x.transpose(0, 2, 1)
        if self.form == "2d":
            return turned[:, 0]
        if self.form == "3d":
            return turned
        ends = np.full(len(self), self.x.shape[1]) if self.lengths is None else self.lengths
        return [one[:, :end] for one, end in zip(turned, ends, strict=True)]


def read_series(X: Any, *, estimator: Any = None, reset: bool = False, allow_nan: bool = False) -> Series:
    """The series of X; what is wrong with it is said in one sentence.

    >>> read_series(np.ones((4, 30))).x.shape, read_series(np.ones((4, 3, 30))).x.shape
    ((4, 30, 1), (4, 30, 3))
    >>> read_series([np.ones((3, 5)), np.ones((3, 9))]).lengths.tolist()
    [5, 9]
    """
    X = _nested(X)
    finite: Any = "allow-nan" if allow_nan else True
    if _is_ragged(X):
        return _padded(X, allow_nan=allow_nan)
    options: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": finite}
    if getattr(X, "ndim", 2) == 3:
        found = check_array(X, allow_nd=True, **options)
        if 0 in found.shape:
            raise ValueError(f"X has no values: its shape is {found.shape}; give at least one instant and one channel.")
        if reset and estimator is not None:
            estimator.n_features_in_ = found.shape[1]
        return Series(found.transpose(0, 2, 1), None, "3d")
    if getattr(X, "ndim", 2) > 3:
        raise ValueError(f"X has {X.ndim} axes: give (n, T), (n, channels, T), or a list of (channels, T_i).")
    if estimator is None:
        found = check_array(X, **options)
    else:
        whole = not reset and getattr(estimator, "_form", "2d") != "2d"  # then any length will do
        found = check_array(X, **options) if whole else validate_data(estimator, X, reset=reset, **options)
    return Series(found[:, :, None], None, "2d")


def _nested(X: Any) -> Any:
    """Lists of series in place of a frame or an object array whose cells are series."""
    values = getattr(X, "values", X)
    values = values if isinstance(values, np.ndarray) and values.dtype == object and values.size else None
    if values is None or np.ndim(values.flat[0]) == 0:
        return X
    if values.ndim == 1:
        return list(values)
    return [np.stack([np.asarray(cell, dtype=np.float64) for cell in row]) for row in values]


def _is_ragged(X: Any) -> bool:
    if not isinstance(X, list | tuple) or not X:
        return False
    shapes = {np.shape(one) for one in X if not isinstance(one, list | tuple)} or {(len(one),) for one in X}
    return any(len(shape) == 2 for shape in shapes) or (len(shapes) > 1 and all(len(shape) == 1 for shape in shapes))


def _padded(X: Sequence[Any], *, allow_nan: bool) -> Series:
    arrays: list[Array] = []
    for index, one in enumerate(X):
        try:
            array = np.asarray(one, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Series {index} is not an array of numbers (channels, T): {error}.") from error
        array = array[None] if array.ndim == 1 else array
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(f"Series {index} has shape {array.shape}: give (channels, T) with at least one instant.")
        if array.shape[0] != (arrays[0] if arrays else array).shape[0]:
            raise ValueError(f"Series {index} has {array.shape[0]} channels, the first has {arrays[0].shape[0]}.")
        if np.isinf(array).any() or (not allow_nan and np.isnan(array).any()):
            raise ValueError(
                f"Series {index} contains NaN or infinity: fill it, or set missing='interpolate' or 'mask' for NaN."
            )
        arrays.append(array)
    lengths = np.array([array.shape[1] for array in arrays], dtype=np.int64)
    x = np.zeros((len(arrays), int(lengths.max()), arrays[0].shape[0]))
    for row, array in zip(x, arrays, strict=True):
        row[: array.shape[1]] = array.T
    return Series(x, None if (lengths == lengths[0]).all() else lengths, "list")
