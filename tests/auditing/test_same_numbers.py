"""One classifier in every guise, one seed, one interruption: the same numbers."""

import json

import numpy as np
import pytest
from known import AeonShaped, Labels, Plain, as_module, fitted, waves

from noisyrnn.auditing import Audit, audit
from noisyrnn.auditing.budget import Budget

FEW = Budget(name="few", series=None, attacked=12, radii=(0.1, 0.4), steps=5, queries=30, smoothed=5, draws=60)


def numbers(report):
    """Everything that a search, a vote or a fault has found, and no name."""
    told = json.loads(report.model_dump_json())
    return {key: told[key] for key in ("clean", "cells", "mean", "worst", "by_fault", "certificates")}


def test_one_logistic_regression_in_every_guise(tmp_path):
    x, y = waves(80)
    model = fitted(x[:40], y[:40])
    guises = {
        "pipeline": model,
        "aeon": AeonShaped(model),
        "torch": as_module(model, 40),
        "plain": Plain(model),
    }
    try:
        import onnxruntime  # noqa: F401
        from skl2onnx import to_onnx
    except ImportError:
        pass
    else:
        path = tmp_path / "model.onnx"
        written = to_onnx(model, x[:1, 0].astype(np.float32), options={"zipmap": False})
        path.write_bytes(written.SerializeToString())
        guises["onnx"] = path
    found = audit(guises, x[40:], y[40:], faults=["noise", "shift", "gain"], budget=FEW)
    assert {one.name: one.failed for one in found.reports} == dict.fromkeys(guises)
    first = found["pipeline"]
    for name in guises:
        other = found[name]
        for mine, theirs in zip((first.clean, *first.cells), (other.clean, *other.cells), strict=True):
            assert mine.accuracy == theirs.accuracy, (name, mine.fault, mine.severity)
            assert mine.calibration == pytest.approx(theirs.calibration, abs=2e-3)
            assert mine.brier == pytest.approx(theirs.brier, abs=1e-5)
        assert other.certificates[0].accuracy == first.certificates[0].accuracy
        if name != "torch":  # which is attacked by its gradients, too
            assert other.attack.accuracy == first.attack.accuracy
        else:
            assert all(a.value <= b.value for a, b in zip(other.attack.accuracy, first.attack.accuracy, strict=True))
    assert found["aeon"].form == "(case, channel, time)"
    assert found["plain"].form == "list of (channel, time)"


def test_two_audits_with_one_seed_are_equal_to_the_bit():
    x, y = waves(60)
    model = fitted(x, y)
    module = as_module(model, 40)
    once, again = (
        audit({"a": model, "b": module}, x, y, faults=["noise", "jitter"], budget=FEW, seed=3) for _ in range(2)
    )
    unlike = audit({"a": model, "b": module}, x, y, faults=["noise", "jitter"], budget=FEW, seed=4)
    created = {"conditions": {"created"}}
    assert once.model_dump_json(exclude=created) == again.model_dump_json(exclude=created)
    assert numbers(once["a"]) != numbers(unlike["a"])


def test_an_interrupted_audit_goes_on_where_it_was(tmp_path):
    x, y = waves(60)
    model, asked = fitted(x, y), []

    class Watched:
        classes_ = model.classes_
        stop = 6

        def predict_proba(self, X):
            asked.append(len(X))
            if len(asked) == Watched.stop:
                raise KeyboardInterrupt
            return model.predict_proba(np.asarray(X).reshape(len(X), -1))

    spent = FEW.model_copy(update={"attacked": 0, "smoothed": 0})
    whole = audit({"w": model}, x, y, faults=["noise", "gap"], budget=spent)
    with pytest.raises(KeyboardInterrupt):
        audit({"w": Watched()}, x, y, faults=["noise", "gap"], budget=spent, cache=tmp_path)
    kept = len(list(tmp_path.rglob("*.npz")))
    assert kept == 3  # the probe, the clean series and three cells came before the interruption
    Watched.stop = 0
    asked.clear()
    resumed = audit({"w": Watched()}, x, y, faults=["noise", "gap"], budget=spent, cache=tmp_path)
    assert len(asked) == 2 + 10 - kept
    assert numbers(resumed["w"]) == numbers(whole["w"])
    for path in list(tmp_path.rglob("*.npz"))[:4]:  # damage is noticed and measured again
        path.write_bytes(path.read_bytes()[:50])
    mended = audit({"w": Watched()}, x, y, faults=["noise", "gap"], budget=spent, cache=tmp_path)
    assert numbers(mended["w"]) == numbers(whole["w"])


def test_attacks_and_votes_are_kept_too(tmp_path):
    x, y = waves(40)
    model, asked = fitted(x, y), []

    class Watched:
        classes_ = model.classes_

        def predict_proba(self, X):
            asked.append(len(X))
            return model.predict_proba(np.asarray(X).reshape(len(X), -1))

    once = audit({"w": Watched()}, x, y, faults=["noise"], budget=FEW, cache=tmp_path)
    first = len(asked)
    again = audit({"w": Watched()}, x, y, faults=["noise"], budget=FEW, cache=tmp_path)
    assert len(asked) - first == 2  # at first sight, and the clean series
    assert once["w"] == again["w"]
    more = audit(
        {"w": Watched()}, x, y, faults=["noise"], budget=FEW.model_copy(update={"queries": 31}), cache=tmp_path
    )
    assert more["w"].attack.queries == 31


def test_another_classifier_under_the_same_name_is_not_mistaken(tmp_path):
    x, y = waves(40)
    spent = FEW.model_copy(update={"attacked": 0, "smoothed": 0})
    for rule in ("slow", "fast"):
        model = Labels(lambda X, rule=rule: np.full(len(X), rule))
        found = audit({"one": model}, x, y, faults=["noise"], budget=spent, cache=tmp_path)
        assert found["one"].cells[0].accuracy.value == 0.5
    assert len(list(tmp_path.rglob("*.npz"))) == 10


def test_results_go_to_json_and_back():
    x, y = waves(40)
    found = audit(fitted(x, y), x, y, faults=["noise"], budget=FEW)
    assert Audit.model_validate_json(found.model_dump_json()) == found


def test_series_are_drawn_class_by_class_where_there_are_too_many():
    x, y = waves(100)
    spent = FEW.model_copy(update={"attacked": 0, "smoothed": 0, "series": 30})
    found = audit(Labels(lambda X: np.full(len(X), "slow")), x, y, faults=["noise"], budget=spent)
    assert (found.conditions.cases, found.conditions.of) == (30, 100)
    assert found["Labels"].clean.accuracy.value == 0.5
