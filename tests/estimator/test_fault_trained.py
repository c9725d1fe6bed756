"""Faults for any classifier: copies are disturbed in the data's own units, clean ones stay."""

import numpy as np
import pytest
from made_waves import waves
from sklearn.base import BaseEstimator, ClassifierMixin

from noisyrnn import FaultTrained
from noisyrnn.perturb import FaultMixture


class Keeping(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted on."""

    def fit(self, X, y):
        self.X_, self.y_, self.classes_ = X, y, np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_copies_follow_the_clean_series_in_the_datas_own_units():
    X, y = waves(10, channels=2)
    fitted = FaultTrained(Keeping(), faults=FaultMixture.only("white", 0.5), copies=3, random_state=0).fit(X, y)
    rows = fitted.estimator_.X_
    assert rows.shape == (40, 2, 30)
    assert np.array_equal(rows[:10], X)
    assert np.array_equal(fitted.estimator_.y_, np.tile(y, 4))
    noise = rows[10:] - np.tile(X, (3, 1, 1))
    assert noise.std() == pytest.approx(0.5 * X.std(), rel=0.1)
    again = FaultTrained(Keeping(), faults=FaultMixture.only("white", 0.5), copies=3, random_state=0).fit(X, y)
    assert np.array_equal(again.estimator_.X_, rows)
    assert not hasattr(fitted, "predict_proba")


def test_series_of_unequal_length_stay_lists():
    X, y = waves(6)
    ragged = [one[:, : 10 + index] for index, one in enumerate(X)]
    rows = FaultTrained(Keeping(), copies=1, random_state=0).fit(ragged, y).estimator_.X_
    assert [one.shape for one in rows] == [one.shape for one in ragged] * 2


def test_wrong_arguments_are_one_sentence():
    X, y = waves(6)
    for arguments, message in (
        ({}, "needs an estimator"),
        ({"estimator": Keeping(), "copies": -1}, "copies must be"),
        ({"estimator": Keeping(), "faults": "all"}, "faults must be"),
    ):
        with pytest.raises(ValueError, match=message):
            FaultTrained(**arguments).fit(X, y)
