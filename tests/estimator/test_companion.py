"""The companion: its regression is the one left-out series ask for; the pair under the classifier's whole contract."""

import numpy as np
import pytest
import torch
from made_waves import waves
from sklearn.linear_model import Ridge

from noisyrnn import NoisyRNNClassifier
from noisyrnn.attack import FGSM
from noisyrnn.estimator.companion import _STRENGTHS, ridge
from noisyrnn.estimator.random_convolutions import RandomConvolutionsSetting
from noisyrnn.perturb import FaultMixture

SMALL = RandomConvolutionsSetting(steps=30, features=1000)
QUICK = {"hidden_size": 6, "n_epochs": 2, "random_state": 0, "companion": SMALL}


def test_the_strength_is_the_one_that_left_out_series_ask_for():
    rng = np.random.default_rng(0)
    series, copies = 12, 3
    y = np.arange(series) % 3
    centres = rng.normal(size=(series, 40)) + 1.5 * rng.normal(size=(3, 40))[y]
    features = np.concatenate([centres + 0.3 * rng.normal(size=centres.shape) for _ in range(copies)])
    features = (features - features.mean(0)) / features.std(0)
    labels, groups = np.tile(y, copies), np.arange(series * copies).reshape(copies, series).T
    targets = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    unit = float((features**2).sum(1).mean())
    levelled = np.column_stack([features, np.full(len(features), np.sqrt(unit))])
    errors = []
    for strength in _STRENGTHS:
        left_out = np.zeros_like(targets)
        for rows in groups:
            rest = np.setdiff1d(np.arange(len(labels)), rows)
            model = Ridge(alpha=strength * unit, fit_intercept=False)
            model.fit(levelled[rest], (targets - targets.mean(0))[rest])
            left_out[rows] = model.predict(levelled[rows]) + targets.mean(0)
        errors.append(((targets - left_out) ** 2).mean())
    best = Ridge(alpha=_STRENGTHS[int(np.argmin(errors))] * unit, fit_intercept=False)
    *expected, level = best.fit(levelled, targets - targets.mean(0)).coef_.T
    expected, level = np.array(expected).T, targets.mean(0) + np.sqrt(unit) * level
    given = torch.from_numpy(features).float(), torch.from_numpy(labels), torch.ones(len(labels))
    weight, bias = ridge(*given, torch.from_numpy(groups), 3)
    temperature = float((weight * torch.from_numpy(expected)).sum() / (expected**2).sum())
    assert np.abs(weight.numpy() / temperature - expected).max() < 1e-4
    assert np.abs(bias.numpy() / temperature - level).max() < 1e-4


def test_labels_at_random_are_not_told_from_those_that_are_left_in():
    generator = torch.Generator().manual_seed(0)
    features, y = torch.randn(40, 500, generator=generator), torch.randperm(40, generator=generator) % 2
    weight, bias = ridge(features, y, torch.ones(40), torch.arange(40).reshape(40, 1), 2)
    # Nothing can be learned here, and the temperature says so: no answer is sure.
    assert (features @ weight.T + bias).softmax(1).max() < 0.9


def test_a_weight_of_zero_is_a_row_that_is_not_there():
    generator = torch.Generator().manual_seed(0)
    features, y = torch.randn(20, 50, generator=generator), torch.arange(20) % 2
    weights = torch.cat([torch.ones(12), torch.zeros(8)])
    few = ridge(features[:12], y[:12], torch.ones(12), torch.arange(12).reshape(12, 1), 2)
    all_of_them = ridge(features, y, weights, torch.arange(20).reshape(20, 1), 2)
    scores = [features @ weight.T + bias for weight, bias in (few, all_of_them)]
    assert (scores[0].softmax(1) - scores[1].softmax(1)).abs().max() < 0.05


def test_the_pair_is_the_mean_of_its_parts():
    X, y = waves()
    fitted = NoisyRNNClassifier(**QUICK).fit(X, y)
    x, call = fitted.tensors(X)
    network = fitted.through(x, call, noise=False).double().softmax(1)
    own = fitted.companion_(x).double().softmax(1)
    assert np.allclose(fitted.predict_proba(X), ((network + own) / 2).numpy())
    alone = NoisyRNNClassifier(**{**QUICK, "companion": None}).fit(X, y)
    assert np.allclose(alone.predict_proba(X), network.numpy(), atol=1e-6)
    noisy = NoisyRNNClassifier(**QUICK, hidden_noise=0.5).fit(X, y)
    sampled = noisy.predict_proba(X, samples=2)
    assert not np.allclose(sampled, noisy.predict_proba(X))
    assert np.array_equal(sampled, noisy.predict_proba(X, samples=2))


def test_it_learns_what_a_network_of_two_epochs_cannot():
    X, y = waves(40)
    later, kinds = waves(60, seed=1), {"white": (1.0,), "spikes": (0.1,)}
    faulty, plain = (NoisyRNNClassifier(**QUICK, faults=faults).fit(X, y) for faults in ("default", None))
    assert faulty.score(*later) > 0.9
    assert faulty.robustness(*later, faults=kinds).disturbed > plain.robustness(*later, faults=kinds).disturbed + 0.05


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "mask"},
        {"class_weight": "balanced"},
        {"input_noise": 0.1, "faults": None},
        {"scaling": "series"},
        {"early_stopping": True, "validation_fraction": 0.25},
        {"faults": FaultMixture(clean=0.0)},
        {"faults": FaultMixture(clean=1.0)},
    ],
)
def test_other_arguments_go_with_it(options):
    X, y = waves(24, channels=2)
    fitted = NoisyRNNClassifier(**QUICK, **options).fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert fitted.companion_(fitted.tensors(X)[0]).argmax(1).numpy().tolist().count(0) in range(6, 19)


def test_unequal_lengths_and_more_series_than_rows():
    X, y = waves(24, steps=40)
    ragged = [one[:, : 20 + index % 20] for index, one in enumerate(X)]
    fitted = NoisyRNNClassifier(**QUICK).fit(ragged, y)
    together = fitted.predict_proba(ragged)
    assert np.allclose(np.concatenate([fitted.predict_proba([one]) for one in ragged]), together, atol=1e-5)
    many, labels = waves(2500, steps=10)
    options = {**QUICK, "n_epochs": 1, "batch_size": 500, "companion": RandomConvolutionsSetting(steps=10, features=84)}
    assert NoisyRNNClassifier(**options).fit(many, labels).score(many, labels) > 0.9


def test_a_loaded_pair_is_the_same(tmp_path):
    X, y = waves(12, channels=2)
    fitted = NoisyRNNClassifier(**QUICK).fit(X, y)
    path = fitted.save(tmp_path / "model")
    again = NoisyRNNClassifier.load(path)
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.companion_.convolutions.setting == SMALL
    assert "random convolutions" in (path / "README.md").read_text()
    assert sorted(one.name for one in path.iterdir()) == ["README.md", "model.json", "model.safetensors"]
    more = again.set_params(warm_start=True, n_epochs=1).fit(X, y)
    assert more.n_iter_ == fitted.n_iter_ + 1


def test_the_default_has_one_unless_it_is_causal():
    X, y = waves(8)
    few = {"hidden_size": 4, "n_epochs": 1, "random_state": 0}
    assert NoisyRNNClassifier(**few).fit(X, y).companion_ is not None
    assert NoisyRNNClassifier(causal=True, **few).fit(X, y).companion_ is None


def test_what_it_cannot_do_is_said_in_one_sentence():
    X, y = waves(8)
    fitted = NoisyRNNClassifier(**QUICK, causal=True).fit(X, y)
    with pytest.raises(ValueError, match="companion=None"):
        fitted.stream()
    with pytest.raises(ValueError, match="companion=None"):
        fitted.robustness(X, y, attacks=[FGSM(radius=0.1)])
    with pytest.raises(ValueError, match="companion must be"):
        NoisyRNNClassifier(companion="rocket").fit(X, y)
    found = fitted.certify(X[:2], draws=50)
    assert found.method == "smoothing"
