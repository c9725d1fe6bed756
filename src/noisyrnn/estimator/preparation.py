"""From series in natural units to what a network sees: missing values, scaling, step sizes; learned once, then kept."""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from noisyrnn.estimator.series import Array, Series
from noisyrnn.setting import Setting

SHORTEST, LONGEST = 0.1, 4.0
"""Times between samples count in units of the training set's median, and at least and at most as these."""


class Scaling(StrEnum):
    """What is made of natural units."""

    CHANNEL = "channel"
    """Mean and deviation of each channel over the training set."""
    SERIES = "series"
    """Mean and deviation of each channel over each series: levels and amplitudes are lost."""
    NONE = "none"


class Missing(StrEnum):
    """What is made of NaN."""

    REFUSE = "refuse"
    INTERPOLATE = "interpolate"
    MASK = "mask"


class Preparation(Setting):
    """What was learned of the training set, so that all later series are treated alike.

    >>> series = Series(np.array([[[1.0], [3.0]]]), None, "2d")
    >>> learned = Preparation.of(series, scaling=Scaling.CHANNEL)
    >>> learned.applied(series)[0].ravel().tolist()
    [-1.0, 1.0]
    """

    scaling: Scaling = Scaling.CHANNEL
    missing: Missing = Missing.REFUSE
    mean: tuple[float, ...]
    deviation: tuple[Annotated[float, Field(gt=0)], ...]
    time_unit: Annotated[float, Field(gt=0)] | None = None

    @classmethod
    def of(
        cls,
        series: Series,
        *,
        scaling: Scaling = Scaling.CHANNEL,
        missing: Missing = Missing.REFUSE,
        times: Array | None = None,
    ) -> Preparation:
        """Means, deviations and the unit of time of a training set."""
        valid = series.x[series.valid]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a channel without any value
            mean, deviation = np.nanmean(valid, axis=0), np.nanstd(valid, axis=0)
        if not np.isfinite(deviation[~np.isnan(deviation)]).all():
            raise ValueError("X holds values too large to scale: divide them by a constant first.")
        mean = np.where(np.isnan(mean), 0.0, mean)
        # A constant channel says nothing: it stays at 0, and rounding is not blown up.
        flat = np.isnan(deviation) | (deviation <= 1e-12 * np.maximum(1e-300, np.abs(mean)))
        unit = None
        if times is not None:
            gaps = np.diff(times, axis=1)[series.valid[:, 1:]]
            unit = float(np.median(gaps)) if gaps.size else 1.0
        return cls(
            scaling=scaling,
            missing=missing,
            mean=tuple(mean.tolist()),
            deviation=tuple(np.where(flat, 1.0, deviation).tolist()),
            time_unit=unit,
        )

    @property
    def inputs(self) -> int:
        """Channels that a network sees."""
        return len(self.mean) * (2 if self.missing is Missing.MASK else 1)

    def applied(self, series: Series) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
        """x (n, T, inputs) in single precision, and lengths."""
        if series.channels != len(self.mean):
            raise ValueError(
                f"X has {series.channels} channels, but this classifier is expecting {len(self.mean)}: give the "
                "channels that it was trained on."
            )
        x, valid = series.x, series.valid[..., None]
        absent = np.isnan(x) & valid
        if self.missing is Missing.INTERPOLATE and absent.any():
            x = _interpolated(x, series.valid, np.array(self.mean))
        if self.scaling is Scaling.CHANNEL:
            x = (x - np.array(self.mean)) / np.array(self.deviation)
        elif self.scaling is Scaling.SERIES:
            count = valid.sum(1, keepdims=True)
            mean = np.nansum(np.where(valid, x, 0), axis=1, keepdims=True) / count
            spread = np.sqrt(np.nansum(np.where(valid, (x - mean) ** 2, 0), axis=1, keepdims=True) / count)
            x = (x - mean) / np.where(spread <= 1e-12 * np.maximum(1e-300, np.abs(mean)), 1.0, spread)
        x = np.where(valid & ~np.isnan(x), x, 0.0)
        if self.missing is Missing.MASK:
            x = np.concatenate([x, (valid & ~absent).astype(x.dtype)], axis=2)
        with np.errstate(over="ignore"):
            single = x.astype(np.float32)
        if not np.isfinite(single).all():
            raise ValueError("X holds values too large for single precision after scaling: check their units.")
        return single, series.lengths

    def step_sizes(self, times: Array | None, series: Series) -> NDArray[np.float32] | None:
        """Times between samples in units of the training set's median, 1 for the first; None without times."""
        if times is None:
            return None
        if self.time_unit is None:
            raise ValueError("times were given, but not to fit: give them to both, or to neither.")
        gaps = np.diff(times, axis=1, prepend=times[:, :1] - self.time_unit) / self.time_unit
        gaps[~series.valid] = 1.0
        return stable_gaps(gaps)


def stable_gaps(gaps: Array) -> NDArray[np.float32]:
    """Times between samples, in units of the usual, that a network can take; a warning where they are others."""
    if ((gaps < SHORTEST) | (gaps > LONGEST)).any():
        warnings.warn(
            f"Some times between samples count as {SHORTEST:g} or {LONGEST:g} times the usual, although they are "
            "shorter or longer: steps beyond that are not stable.",
            stacklevel=4,
        )
    return np.clip(gaps, SHORTEST, LONGEST).astype(np.float32)


def read_times(times: Any, series: Series) -> Array | None:
    """Time stamps (n, T) that increase within each series, or None."""
    if times is None:
        return None
    found = np.asarray(times, dtype=np.float64)
    found = np.broadcast_to(found, series.x.shape[:2]) if found.ndim == 1 else found
    if found.shape != series.x.shape[:2]:
        raise ValueError(f"times must have shape (n, T) = {series.x.shape[:2]}, got {found.shape}.")
    inside = series.valid
    if not np.isfinite(found[inside]).all():
        raise ValueError("times must be finite: fill or remove what is missing.")
    backwards = (np.diff(found, axis=1) <= 0) & inside[:, 1:]
    if backwards.any():
        row, column = np.argwhere(backwards)[0].tolist()
        raise ValueError(f"times must increase: series {row} does not between instants {column} and {column + 1}.")
    return np.where(inside, found, 0.0)


def _interpolated(x: Array, valid: NDArray[np.bool_], mean: Array) -> Array:
    """NaN filled linearly between neighbours of the series, by the nearest at its ends, by the mean without any."""
    filled = x.copy()
    for row, channel in np.argwhere((np.isnan(x) & valid[..., None]).any(axis=1)).tolist():
        values, inside = filled[row, :, channel], valid[row]
        known = inside & ~np.isnan(values)
        absent = np.flatnonzero(inside & ~known)
        at = np.flatnonzero(known)
        values[absent] = np.interp(absent, at, values[at]) if len(at) else mean[channel]
    return filled
