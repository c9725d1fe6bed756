"""The classifier: forms of X, scaling, missing values, times, weights, warm starts, callbacks, robustness, radii."""

import numpy as np
import pytest
import torch
from made_waves import waves

from noisyrnn import LipschitzRNN, NoisyRNNClassifier
from noisyrnn.attack import FGSM
from noisyrnn.estimator.design import names
from noisyrnn.models import Noisy
from noisyrnn.perturb import FaultMixture, Strengths
from noisyrnn.rnn import Pooling

QUICK = {"hidden_size": 8, "n_epochs": 25, "batch_size": 24, "lr": 0.05, "random_state": 0}
QUICK |= {"faults": None, "companion": None}


def quick(*model, **options):
    return NoisyRNNClassifier(*model, **{**QUICK, **options})


def test_every_form_of_the_same_series_gives_the_same_classifier():
    X, y = waves()
    expected = quick(n_epochs=3).fit(X, y).predict_proba(X)
    for same in (X[:, 0], X[:, 0].tolist(), list(X)):
        fitted = quick(n_epochs=3).fit(same, y)
        assert np.allclose(fitted.predict_proba(same), expected, atol=1e-6)
    frames = pytest.importorskip("pandas")
    frame = frames.DataFrame(X[:, 0])
    assert np.allclose(quick(n_epochs=3).fit(frame, frames.Series(y)).predict_proba(frame), expected, atol=1e-6)


def test_natural_units_train_as_well_as_scaled_ones():
    scores = []
    for mean, spread in ((200.0, 30.0), (0.0, 1.0), (-1e6, 1e3)):
        X, y = waves(mean=mean, spread=spread)
        scores.append(quick().fit(X, y).score(*waves(seed=1, mean=mean, spread=spread)))
    assert min(scores) > 0.85
    assert max(scores) - min(scores) < 0.1


def test_series_of_unequal_length_do_not_depend_on_their_company():
    X, y = waves(steps=40)
    ragged = [one[:, : 20 + index % 20] for index, one in enumerate(X)]
    fitted = quick().fit(ragged, y)
    together = fitted.predict_proba(ragged)
    assert np.allclose(np.concatenate([fitted.predict_proba([one]) for one in ragged]), together, atol=1e-5)
    assert fitted.predict(X[:2, :, :15]).shape == (2,)  # other lengths will do


def test_missing_values_are_refused_filled_or_masked():
    X, y = waves()
    holes = X.copy()
    holes[0, 0, 3:6] = np.nan
    holes[1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(holes, y)
    for missing in ("interpolate", "mask"):
        fitted = quick(missing=missing).fit(holes, y)
        assert fitted.score(X, y) > 0.8
        assert np.isfinite(fitted.predict_proba(holes)).all()
    line = np.arange(30.0).reshape(1, 1, 30)
    gap = line.copy()
    gap[..., 10:15] = np.nan
    filled = quick(missing="interpolate", n_epochs=1).fit(np.concatenate([line, line]), [0, 1])
    assert np.allclose(filled.predict_proba(gap), filled.predict_proba(line))


def test_times_are_step_sizes():
    X, y = waves()
    even = np.tile(np.arange(30.0), (24, 1))
    fitted = quick(n_epochs=3).fit(X, y, times=even)
    plain = quick(n_epochs=3).fit(X, y)
    assert np.allclose(fitted.predict_proba(X, times=7 + even), plain.predict_proba(X), atol=1e-5)
    jittered = np.sort(even + np.random.default_rng(0).uniform(0, 0.9, even.shape), axis=1)
    assert not np.allclose(fitted.predict_proba(X, times=jittered), plain.predict_proba(X), atol=1e-4)
    with pytest.raises(ValueError, match="must increase: series 0"):
        fitted.predict(X, times=even[:, ::-1])
    with pytest.raises(ValueError, match="give them here, too"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="constant step size"):
        quick("lstm", n_epochs=1).fit(X, y, times=even)
    late = even.copy()
    late[:, 10:] += 50
    with pytest.warns(UserWarning, match="count as"):
        fitted.predict(X, times=late)


def test_weights_and_balance_move_the_boundary():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(48, 12)), np.arange(48) % 6 == 0
    plain = quick().fit(X, y).predict(X).mean()
    balanced = quick(class_weight="balanced").fit(X, y).predict(X).mean()
    assert balanced >= plain
    assert quick().fit(X, y, sample_weight=np.where(y, 1.0, 0.0)).predict(X).all()
    with pytest.raises(ValueError, match="negative"):
        quick().fit(X, y, sample_weight=-np.ones(48))


def test_a_warm_start_goes_on_and_a_cold_one_does_not():
    X, y = waves()
    warm = quick(n_epochs=5, warm_start=True).fit(X, y)
    first = warm.predict_proba(X)
    loss = warm.history_["loss"][-1]
    warm.set_params(n_epochs=20).fit(X, y)
    assert warm.history_["epoch"][-1] == 25 == warm.n_iter_
    assert warm.history_["loss"][-1] < loss
    cold = quick(n_epochs=5).fit(X, y).fit(X, y)
    assert np.array_equal(cold.predict_proba(X), first)
    with pytest.raises(ValueError, match="warm_start"):
        warm.fit(X, np.where(y == "slow", "slow", "odd"))


def test_callbacks_see_each_epoch_and_may_end_it(capsys):
    X, y = waves()
    seen = []

    def stop(estimator, record):
        seen.append((record["epoch"], record["loss"], estimator.n_iter_no_change))
        return record["epoch"] == 3

    fitted = quick(callbacks=[stop], verbose=1).fit(X, y)
    assert [epoch for epoch, _, _ in seen] == [1, 2, 3] == fitted.history_["epoch"]
    quick(n_epochs=10, verbose=1).fit(X, y)
    assert "epoch 10 of 10" in capsys.readouterr().out


def test_early_stopping_keeps_the_best_and_measures_what_was_held_back():
    X, y = waves(40)
    fitted = quick(early_stopping=True, validation_fraction=0.25, n_iter_no_change=3, n_epochs=100).fit(X, y)
    measured = fitted.history_["validation_accuracy"]
    assert len(measured) < 100
    assert max(measured) > 0.8
    assert max(measured[-3:]) <= max(measured[:-3])
    with pytest.raises(ValueError, match="early_stopping holds back"):
        quick(early_stopping=True).fit(X[:3], y[:3])


@pytest.mark.parametrize("model", names())
def test_every_model_by_name(model):
    X, y = waves(12)
    fitted = quick(model, n_epochs=1).fit(X, y)
    assert fitted.predict_proba(X).shape == (12, 2)


def test_models_as_settings_and_layers():
    X, y = waves(12)
    setting = Noisy(hidden=5, additive=0.2, pooling=Pooling.MEAN)
    assert quick(setting, n_epochs=1).fit(X, y).network_.layer.hidden_size == 5
    layer = LipschitzRNN(7, 5, dt=0.2)
    before = {name: one.clone() for name, one in layer.state_dict().items()}
    fitted = quick(layer, n_epochs=2).fit(X, y)
    assert fitted.network_.front_end.features == 7
    assert all(torch.equal(one, before[name]) for name, one in layer.state_dict().items())
    with pytest.raises(ValueError, match="model must be one of"):
        quick("nosy").fit(X, y)
    with pytest.raises(ValueError, match="no layer of this library"):
        quick(torch.nn.Linear(1, 1)).fit(X, y)
    with pytest.raises(ValueError, match="hidden_noise"):
        quick("lstm", hidden_noise=0.1).fit(X, y)


def bumps(samples, seed):
    """Nothing, or a bump somewhere: what a spike could be taken for."""
    rng = np.random.default_rng(seed)
    y = np.arange(samples) % 2
    centre = rng.uniform(5, 25, (samples, 1))
    return 1.5 * y[:, None] * np.exp(-((np.arange(30) - centre) ** 2) / 4) + 0.1 * rng.normal(size=(samples, 30)), y


def test_faults_in_training_keep_accuracy_under_faults():
    options = {"n_epochs": 40, "batch_size": 32, "lr": 0.03}
    spikes = FaultMixture(kinds=(Strengths(kind="spikes", high=0.1),), probability=1.0)
    plain, trained = (quick(faults=faults, **options).fit(*bumps(32, 0)) for faults in (None, spikes))
    before, after = (one.robustness(*bumps(200, 1), faults={"spikes": (0.1,)}) for one in (plain, trained))
    assert after.clean > 0.95
    assert after.disturbed > before.disturbed + 0.05
    assert (before.seen, after.seen) == ((), ("spikes",))


def test_robustness_is_a_table_a_picture_and_json():
    X, y = waves(10)
    fitted = quick(n_epochs=2).fit(X, y)
    found = fitted.robustness(X, y, attacks=[FGSM(radius=0.5)])
    assert found.attacks["fgsm 0.5"] <= found.clean
    assert found.as_dict()["curves"]["white"].keys() == {"0.25", "0.5", "1"}
    assert "wander (unseen)" in str(found)
    assert len(found.plot().lines) == len(found.curves)
    assert fitted.robustness(X, y) == fitted.robustness(X, y)


def test_radii_say_by_what_they_hold():
    X, y = waves()
    fitted = quick().fit(X, y)
    found = fitted.certify(X[:6], draws=200)
    assert found.method in ("gain", "smoothing")
    assert (found.radius >= 0).all()
    assert found.certified_accuracy(y[:6], 0.0) >= found.certified_accuracy(y[:6], 0.5)
    assert "median radius" in str(found)
    ragged = [one[:, :end] for one, end in zip(X[:3], (10, 20, 30), strict=True)]
    assert len(fitted.certify(ragged, draws=20).radius) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaling": "sere"}, "scaling must be"),
        ({"missing": "drop"}, "missing must be"),
        ({"readout": "first"}, "readout must be"),
        ({"front_end": "no"}, "front_end must be"),
        ({"faults": "some"}, "faults must be"),
        ({"n_epochs": 0}, "n_epochs must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"device": "abacus"}, "device must be"),
        ({"lr": -1.0}, "lr"),
    ],
)
def test_a_wrong_argument_is_one_sentence(change, message):
    X, y = waves(8)
    with pytest.raises(ValueError, match=message) as caught:
        quick(**change).fit(X, y)
    assert "\n" not in str(caught.value)


def test_wrong_series_are_one_sentence():
    X, y = waves(8, channels=2)
    fitted = quick(n_epochs=1, faults=FaultMixture()).fit(X, y)
    with pytest.raises(ValueError, match="1 channels, but this classifier is expecting 2"):
        fitted.predict(X[:, :1])
    with pytest.raises(ValueError, match="one class only"):
        quick().fit(X, ["a"] * 8)
    with pytest.raises(ValueError, match="Series 1 has 1 channels"):
        quick().fit([X[0], X[1][:1]], ["a", "b"])
    with pytest.raises(ValueError, match="4 axes"):
        quick().fit(X[None], y[:1])
