"""Requirements say what they mean, and what they cannot mean is refused."""

import pytest
from known import fitted, waves

from noisyrnn.auditing import audit
from noisyrnn.auditing.budget import Budget
from noisyrnn.auditing.requirement import Requirement

FEW = Budget(name="few", series=None, attacked=8, radii=(0.1, 0.4), steps=5, queries=20, smoothed=4, draws=50)


@pytest.fixture(scope="module")
def found():
    x, y = waves(60)
    return audit({"model": fitted(x, y)}, x, y, faults=["noise", "baseline wander"], budget=FEW)


def test_values_are_those_of_the_report(found):
    report = found["model"]
    meant = {
        "clean > 0": report.clean.accuracy.value,
        "mean > 0": report.mean.value,
        "worst > 0": report.worst.value,
        "noise@3 > 0": report.cell("noise", 3).accuracy.value,
        "baseline wander@5 > 0": report.cell("baseline wander", 5).accuracy.value,
        "noise > 0": report.by_fault["noise"].value,
        "attack@0.4 > 0": report.attack.accuracy[1].value,
        "attack > 0": report.attack.accuracy[0].value,
        "certified@0.1 > 0": report.certificates[0].accuracy[1],
        "ece < 1": report.clean.calibration,
    }
    for text, value in meant.items():
        assert Requirement.parse(text).value(report) == value


def test_who_fails_is_told_in_one_line_each(found):
    assert found.failing("clean >= 0.5", "model: noise@1 >= 50%") == []
    (said,) = found.failing("noise@5 >= 1.1")
    assert said.startswith("model: noise@5 >= 1.1 fails: it is ")
    (said,) = found.failing("mce <= 1")
    assert said == "model: mce <= 1 fails: that was not measured."


@pytest.mark.parametrize("text", ["noise", "noise@3", "noise@3 = 0.9", ">= 0.9", "noise@x >= 1", "noise >= 0.9.9"])
def test_other_sentences_are_refused(text):
    with pytest.raises(ValueError, match="is no requirement"):
        Requirement.parse(text)


def test_unknown_faults_and_names_are_refused(found):
    with pytest.raises(ValueError, match="no fault 'rust' was measured"):
        found.failing("rust@3 >= 0.5")
    with pytest.raises(ValueError, match="names no classifier"):
        found.failing("other: clean >= 0.5")
