"""ONNX: the same probabilities at any batch, time and length; and one step of a stream."""

import os

import numpy as np
import pytest

if not os.environ.get("NOISYRNN_EXTRAS"):
    pytest.skip("onnx is an extra: make extras", allow_module_level=True)

import onnxruntime

from noisyrnn import NoisyRNNClassifier
from noisyrnn.estimator.random_convolutions import RandomConvolutionsSetting
from noisyrnn.export import export_onnx, export_step


def fitted(model="noisy", channels=2, **options):
    rng = np.random.default_rng(0)
    X, y = 200 + 30 * rng.normal(size=(9, channels, 50)), np.arange(9) % 3
    quick = {"n_epochs": 1, "hidden_size": 6, "random_state": 0, **options}
    return NoisyRNNClassifier(model, **quick).fit(X, y)


PAIR = RandomConvolutionsSetting(steps=50, features=500)


@pytest.mark.parametrize(("model", "companion"), [("noisy", None), ("noisy", PAIR), ("cornn", None)])
def test_any_batch_time_and_length_give_the_same_probabilities(model, companion, tmp_path):
    classifier = fitted(model, companion=companion)
    session = onnxruntime.InferenceSession(export_onnx(classifier, tmp_path / "model.onnx"))
    rng = np.random.default_rng(1)
    for batch in (1, 7):
        for time in (1, 50, 784):
            x = (200 + 30 * rng.normal(size=(batch, time, 2))).astype(np.float32)
            lengths = rng.integers(1, time + 1, batch)
            (found,) = session.run(None, {"x": x, "lengths": lengths})
            expected = classifier.predict_proba([one[:end].T for one, end in zip(x, lengths, strict=True)])
            assert np.abs(found - expected).max() < 1e-5
    assert "Scan" in {node.op_type for node in _nodes(tmp_path / "model.onnx")}


def _nodes(path):
    import onnx

    return onnx.load(path).graph.node


def test_one_step_after_another_is_the_whole(tmp_path):
    classifier = fitted(causal=True)
    session = onnxruntime.InferenceSession(export_step(classifier, tmp_path / "step.onnx"))
    about = session.get_modelmeta().custom_metadata_map
    width, stride = int(about["width"]), int(about["stride"])
    x = (200 + 30 * np.random.default_rng(1).normal(size=(3, 2, 40))).astype(np.float32)
    mean = np.array(classifier.preparation_.mean, dtype=np.float32)
    window = np.tile(mean, (3, width, 1))
    shapes = {one.name: one.shape for one in session.get_inputs()}
    kept = {
        name: np.full([3, *shapes[name][1:]], -1e30 if name == "largest" else 0, dtype=np.float32)
        for name in ("states", "total", "largest", "count")
    }
    for time in range(40):
        window = np.concatenate([window[:, 1:], x[:, None, :, time]], axis=1)
        if time % stride == 0:
            probabilities, *after = session.run(None, {"window": window, **kept})
            kept = dict(zip(kept, after, strict=True))
            assert np.abs(probabilities - classifier.predict_proba(x[:, :, : time + 1])).max() < 1e-5


def test_what_cannot_be_exported_is_said(tmp_path):
    with pytest.raises(ValueError, match="causal=True"):
        export_step(fitted(companion=None), tmp_path / "step.onnx")
    with pytest.raises(ValueError, match="companion=None"):
        export_step(fitted(companion=PAIR, causal=True), tmp_path / "step.onnx")
    with pytest.raises(ValueError, match="ClassicRNN"):
        export_onnx(fitted("lstm"), tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="scaling='channel'"):
        export_onnx(fitted(scaling="series"), tmp_path / "model.onnx")
