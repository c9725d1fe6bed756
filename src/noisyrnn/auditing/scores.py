r"""Scores of answers: accuracy, balanced accuracy, calibration, corruption errors, intervals.

    CE_f = sum_s E(f, s) / sum_s E_ref(f, s),   mCE = mean_f CE_f;   relative: E - E_clean in place of E

(Hendrycks, Dietterich 2019, for images.) Intervals: the percentiles 2.5 and 97.5 of 1,000 resamples of the test series,
the same resamples for every fault, severity and classifier, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn.auditing.answers import Answers
from noisyrnn.randomness import stream

RESAMPLES = 1000
_BINS = 15

Interval = tuple[float, float]


class Resamples:
    """1,000 resamples of n series, as counts: the mean of a number over a resample is one product of matrices."""

    def __init__(self, count: int, seed: int) -> None:
        drawn = torch.randint(count, (RESAMPLES, count), generator=stream("audit", "resamples", seed, count))
        self._counts = torch.zeros(RESAMPLES, count).scatter_add_(1, drawn, torch.ones(RESAMPLES, count)).numpy()

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each resample; values are (series,) or (series, ...)."""
        # Divided at the end: whole counts are exact, so that no interval of shares leaves 0 to 1.
        return self._counts @ values / self._counts.shape[1]

    def interval(self, values: NDArray[Any]) -> Interval:
        """95 % of the means of ``values``.

        >>> low, high = Resamples(100, 0).interval(np.arange(100) % 2 == 0)
        >>> 0.38 < low < 0.43 and 0.57 < high < 0.62
        True
        """
        low, high = np.percentile(self.means(np.asarray(values, np.float64)), [2.5, 97.5])
        return float(low), float(high)


def correct(answers: Answers, y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which answers are right."""
    return answers.label == y


def balanced_accuracy(answers: Answers, y: NDArray[np.int64]) -> float:
    """Mean over the classes of y of the share of each that is recognised."""
    right = correct(answers, y)
    return float(np.mean([right[y == one].mean() for one in np.unique(y)]))


def calibration_error(answers: Answers, y: NDArray[np.int64]) -> float | None:
    """ECE: sum_b n_b / n |accuracy_b - confidence_b| over 15 bins of the confidence; None without probabilities.

    An answer that was none has no confidence and is left out.

    >>> always = Answers.of(np.zeros(4, np.int32), np.array([0, 0, 0, 1]), np.array([[0.9, 0.1]] * 4))
    >>> round(calibration_error(always, np.array([0, 0, 0, 1])), 3)
    0.15
    """
    known = np.isfinite(answers.confidence)
    if not known.any():
        return None
    confidence, right = answers.confidence[known].astype(np.float64), correct(answers, y)[known]
    which = np.clip((confidence * _BINS).astype(int), 0, _BINS - 1)
    size = np.bincount(which, minlength=_BINS)
    gap = np.bincount(which, weights=right - confidence, minlength=_BINS)
    return float(np.abs(gap).sum() / size.sum())


def brier(answers: Answers) -> float | None:
    """Mean squared error of all probabilities; None without any."""
    return float(np.nanmean(answers.brier)) if answers.probabilistic else None


def corruption_errors(
    errors: Mapping[str, list[float]],
    reference: Mapping[str, list[float]],
    *,
    clean: float = 0.0,
    reference_clean: float = 0.0,
) -> dict[str, float]:
    """CE_f for every fault at which the reference errs; with clean errors given, the relative one.

    >>> corruption_errors({"noise": [0.1, 0.3]}, {"noise": [0.2, 0.2]})
    {'noise': 1.0}
    >>> corruption_errors({"noise": [0.1]}, {"noise": [0.0]})
    {}
    """  # fmt: skip
    found = {}
    for fault, own in errors.items():
        if len(reference.get(fault, ())) != len(own):
            continue
        theirs = sum(reference[fault]) - len(own) * reference_clean
        if theirs > 1e-9:
            found[fault] = (sum(own) - len(own) * clean) / theirs
    return found
