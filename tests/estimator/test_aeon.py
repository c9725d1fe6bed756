"""aeon's own checks of the thin subclass."""

import os

import pytest

if not os.environ.get("NOISYRNN_EXTRAS"):
    # Without types checked at run time, too: aeon looks at the very constructor, not at a wrapper of it.
    pytest.skip("aeon is an extra: make extras", allow_module_level=True)

from aeon.datasets import load_japanese_vowels
from aeon.testing.estimator_checking import parametrize_with_checks

from noisyrnn.estimator.aeon_classifier import AeonNoisyRNNClassifier


@parametrize_with_checks([AeonNoisyRNNClassifier], use_first_parameter_set=True)
def test_laws_of_aeon(check):
    check()


def test_series_of_unequal_length_go_through():
    X, y = load_japanese_vowels("train")
    few = list(range(0, len(X), 15))
    fitted = AeonNoisyRNNClassifier(n_epochs=30, hidden_size=16, random_state=0).fit([X[i] for i in few], y[few])
    assert (fitted.predict([X[i] for i in few]) == y[few]).mean() > 0.8
