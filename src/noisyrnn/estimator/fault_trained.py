"""Faults in training for any classifier: fit it on its data and on disturbed copies of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from noisyrnn.estimator.preparation import Preparation
from noisyrnn.estimator.series import Series, read_series
from noisyrnn.perturb.mixture import FaultMixture

_COPIES, _ROWS = 20, 2000


def _has(method: str) -> Any:
    def check(self: FaultTrained) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), method)

    return available_if(check)


class FaultTrained(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Any classifier of series, fitted on its data and on copies with sensor faults.

    Parameters
    ----------
    estimator
        A classifier under scikit-learn's laws that takes (n, T) or (n, channels, T): a logistic regression, aeon's
        MiniRocket, ...
    faults
        A ``FaultMixture``; None: the default one, with no copy left clean.
    copies
        Disturbed copies of each series; "auto": 20, fewer where that makes more than about 2000 rows, at least 1.
    random_state
        Seed of the faults.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = np.sin((1 + y)[:, None] * np.linspace(0, 6.28, 50)) + 0.1 * rng.normal(size=(40, 50))
    >>> FaultTrained(LogisticRegression(), copies=3, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self, estimator: Any = None, *, faults: Any = None, copies: Any = "auto", random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.faults = faults
        self.copies = copies
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any) -> FaultTrained:
        """Fit a clone of the estimator on X and its disturbed copies."""
        if self.estimator is None:
            raise ValueError("FaultTrained needs an estimator: give any classifier of series.")
        if y is None:
            raise ValueError("FaultTrained requires y to be passed, but the target y is None.")
        series = read_series(X, estimator=self, reset=True)
        targets = column_or_1d(y, warn=True)
        check_classification_targets(targets)
        check_consistent_length(series.x, targets)
        if len(np.unique(targets)) < 2:
            raise ValueError("y holds one class only: a classifier needs at least two classes.")
        rows, labels = self._disturbed(series, targets)
        self._form = series.form
        self.faults_ = self._mixture()
        self.estimator_ = clone(self.estimator).fit(rows, labels)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes, by the fitted estimator."""
        rows = self._checked(X)
        return self.estimator_.predict(rows)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities, by the fitted estimator."""
        rows = self._checked(X)
        return self.estimator_.predict_proba(rows)

    @_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Decision values, by the fitted estimator."""
        rows = self._checked(X)
        return self.estimator_.decision_function(rows)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_series(X, estimator=self).as_given()

    def _mixture(self) -> FaultMixture:
        if self.faults is not None and not isinstance(self.faults, FaultMixture):
            raise ValueError(f"faults must be None or a FaultMixture, got {self.faults!r}.")
        return FaultMixture(clean=0.0) if self.faults is None else self.faults

    def _disturbed(self, series: Series, targets: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """All rows, the clean ones first, and their labels."""
        copies = min(_COPIES, max(1, _ROWS // len(series))) if self.copies == "auto" else self.copies
        if not isinstance(copies, int) or copies < 0:
            raise ValueError(f"copies must be 'auto' or a whole number of at least 0, got {self.copies!r}.")
        mixture, prepared = self._mixture(), Preparation.of(series)
        mean, deviation = np.array(prepared.mean), np.array(prepared.deviation)
        scaled = torch.from_numpy(np.where(series.valid[..., None], (series.x - mean) / deviation, 0.0))
        lengths = None if series.lengths is None else torch.from_numpy(series.lengths)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        generator = torch.Generator().manual_seed(seed)
        disturbed = [mixture(scaled, generator, lengths=lengths).numpy() * deviation + mean for _ in range(copies)]
        given = [series.as_given(), *(series.with_x(x).as_given() for x in disturbed)]
        rows = [one for part in given for one in part] if series.form == "list" else np.concatenate(given)
        return rows, np.concatenate([targets] * (1 + copies))
