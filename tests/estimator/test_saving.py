"""Saved classifiers: the same after loading, nothing executed, and what is not one is refused in one sentence."""

import json
import pickle
import shutil
import tracemalloc
import zipfile

import numpy as np
import pytest
from made_waves import waves

from noisyrnn import LipschitzRNN, NoisyRNNClassifier
from noisyrnn.perturb import FaultMixture

QUICK = {"hidden_size": 6, "n_epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = waves(8, channels=2)
    classifier = NoisyRNNClassifier(faults=FaultMixture(clean=0.5), **QUICK).fit(X, y)
    measured = {"accuracy": 0.5, "robustness": classifier.robustness(X, y).as_dict()}
    return classifier, classifier.save(tmp_path_factory.mktemp("saved") / "model", measured=measured)


@pytest.mark.parametrize("labels", [["a", "b"], [3, 7], [1.0, 2.0], [True, False], ["ä|b", "`x`"]])
def test_a_loaded_classifier_is_the_same(labels, tmp_path):
    X, y = waves(8)
    y = np.array(labels)[(y == "slow").astype(int)]
    fitted = NoisyRNNClassifier(missing="mask", hidden_noise=0.1, **QUICK).fit(X, y)
    again = NoisyRNNClassifier.load(fitted.save(tmp_path / "model"))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.classes_.dtype.kind == fitted.classes_.dtype.kind
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert np.array_equal(again.predict_proba(X, samples=2), fitted.predict_proba(X, samples=2))
    more = again.set_params(warm_start=True, n_epochs=1).fit(X, y)
    assert more.n_iter_ > 1


def test_the_card_says_what_was_measured_and_which_faults_it_knows(saved):
    _, path = saved
    card = (path / "README.md").read_text()
    assert "- accuracy: 0.500" in card
    assert "wander (not in the training)" in card
    assert "faults in training | warp, scale" in card
    assert NoisyRNNClassifier.load(path).training_.faults.clean == 0.5
    assert sorted(one.name for one in path.iterdir()) == ["README.md", "model.json", "model.safetensors"]


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('executed')",))


def damaged(path, tmp_path, kind):
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    weights, settings = copy / "model.safetensors", copy / "model.json"
    about = json.loads(settings.read_text())
    if kind == "pickle":
        weights.write_bytes(pickle.dumps(Bomb()))
    elif kind == "zip bomb":
        with zipfile.ZipFile(weights, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.pkl", b"\0" * 50_000_000)
    elif kind == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif kind == "empty":
        weights.write_bytes(b"")
    elif kind == "no weights":
        weights.unlink()
    elif kind == "no settings":
        settings.unlink()
    elif kind == "not JSON":
        settings.write_text("{")
    elif kind == "huge":
        about["network"]["model"]["hidden"] = 2**14
        settings.write_text(json.dumps(about))
    elif kind == "altered":
        about["preparation"]["mean"][0] += 1
        settings.write_text(json.dumps(about))
    elif kind == "foreign":
        settings.write_text(json.dumps({"format": "other"}))
    return copy


@pytest.mark.parametrize(
    "kind",
    ["pickle", "zip bomb", "truncated", "empty", "no weights", "no settings", "not JSON", "huge", "altered", "foreign"],
)
def test_what_is_no_classifier_is_refused_in_one_sentence(kind, saved, tmp_path):
    path = damaged(saved[1], tmp_path, kind)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"model\.|copy") as caught:
        NoisyRNNClassifier.load(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert most < 10_000_000


def test_files_and_nothing_are_refused(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Bomb()))
    for path, message in ((tmp_path / "model.pkl", "is a file"), (tmp_path / "none", "does not exist")):
        with pytest.raises(ValueError, match=message):
            NoisyRNNClassifier.load(path)
    X, y = waves(8)
    with pytest.raises(ValueError, match="without code"):
        NoisyRNNClassifier(LipschitzRNN(4, 4), **{**QUICK, "n_epochs": 1}).fit(X, y).save(tmp_path / "own")
