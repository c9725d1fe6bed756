"""Audits whose numbers are known beforehand."""

import math

import numpy as np
import pytest
import torch
from known import Labels, Probabilities, fitted, waves
from scipy.stats import norm

from noisyrnn.auditing import audit
from noisyrnn.auditing.budget import Budget, budget
from noisyrnn.perturb import Spread, severities
from noisyrnn.randomness import stream

FEW = Budget(name="few", series=None, attacked=0, radii=(0.1,), steps=5, queries=5, smoothed=0, draws=10)


def test_who_ignores_its_input_is_as_good_under_every_fault():
    x, y = waves()
    found = audit(Labels(lambda X: np.full(len(X), "slow")), x, y, budget=FEW)["Labels"]
    assert found.clean.accuracy.value == 0.5
    assert {cell.accuracy.value for cell in found.cells} == {0.5}
    assert {cell.balanced for cell in found.cells} == {0.5}
    assert found.mean.value == found.worst.value == 0.5
    assert found.clean.calibration is None
    assert (
        "classes only"
        in audit(Labels(lambda X: np.full(len(X), "slow")), x, y, faults=["noise"], budget="quick")["Labels"].no_attack
    )


def test_bias_and_gain_break_a_threshold_of_the_mean_exactly_where_computed():
    rng = np.random.default_rng(1)
    level = rng.uniform(-1, 1, 200)
    x = 5 + 2 * (level[:, None, None] + np.zeros((200, 1, 30)) + 0.01 * rng.normal(size=(200, 1, 30)))
    y = (x.mean((1, 2)) > 5.6).astype(int)
    found = audit(Labels(lambda X: (X.mean((1, 2)) > 5.6).astype(int)), x, y, faults=["bias", "gain"], budget=FEW)
    spread = Spread.of(torch.from_numpy(x.transpose(0, 2, 1)))
    unit, centre = float(spread.unit), float(spread.centre)
    table = severities()
    for severity in range(1, 6):
        # The very signs that the audit draws.
        drawn = torch.rand(200, 1, generator=stream("audit", "bias", severity, 0)).numpy()[:, 0]
        moved = x.mean((1, 2)) + np.where(drawn < 0.5, -1, 1) * table["bias"].at(severity).level * unit
        expected = float(((moved > 5.6) == y).mean())
        assert found["Labels"].cell("bias", severity).accuracy.value == pytest.approx(expected, abs=1e-12)
        drawn = torch.rand(200, 1, generator=stream("audit", "gain", severity, 0)).numpy()[:, 0]
        factor = np.where(drawn < 0.5, 1 - 0.75 * severity / 5, 1 + severity / 5)
        scaled = centre + factor * (x.mean((1, 2)) - centre)
        expected = float(((scaled > 5.6) == y).mean())
        assert found["Labels"].cell("gain", severity).accuracy.value == pytest.approx(expected, abs=1e-12)
    assert found["Labels"].cell("bias", 5).accuracy.value < 0.9


def linear(weight, bias):
    module = torch.nn.Linear(len(weight), 2).double()
    with torch.no_grad():
        module.weight.copy_(torch.stack([-weight / 2, weight / 2]))
        module.bias.copy_(torch.tensor([-bias / 2, bias / 2]))
    return module


def test_attacks_on_a_linear_classifier_break_exactly_the_margins():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 20))
    weight = torch.from_numpy(rng.normal(size=20))
    score = x @ weight.numpy()
    y = (score > 0).astype(int)
    spent = Budget(
        name="few", series=None, attacked=60, radii=(0.02, 0.05, 0.1, 0.2), steps=10, queries=20, smoothed=0, draws=10
    )
    found = audit({"linear": linear(weight, 0.0)}, x, y, faults=["noise"], budget=spent)["linear"]
    unit = float(Spread.of(torch.from_numpy(x)[:, :, None]).unit)
    margin = np.abs(score) / (np.abs(weight.numpy()).sum() * unit)  # of the ball that reaches the boundary
    expected = [float((margin > radius).mean()) for radius in spent.radii]
    assert [one.value for one in found.attack.accuracy] == pytest.approx(expected, abs=1e-12)
    assert 0.1 < expected[2] < 0.9
    assert not [sign for sign in found.warnings if sign.holds and not sign.weak]


def test_smoothing_radii_of_a_linear_classifier_approach_the_distance_to_its_boundary():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 20))
    weight = torch.from_numpy(rng.normal(size=20))
    score = x @ weight.numpy()
    spent = Budget(name="few", series=None, attacked=0, radii=(0.1,), steps=5, queries=5, smoothed=40, draws=2000)
    found = audit({"linear": linear(weight, 0.0)}, x, (score > 0).astype(int), faults=["noise"], budget=spent)["linear"]
    certificate = found.certificates[0]
    unit = float(Spread.of(torch.from_numpy(x)[:, :, None]).unit)
    true = np.abs(score) / (float(weight.norm()) * unit)
    most = spent.sigma * norm.ppf(spent.alpha ** (1 / spent.draws))  # with every vote
    # Never beyond the true distance (with confidence), and near it where the votes can show it.
    for radius, share in zip(certificate.radii, certificate.accuracy, strict=True):
        assert share <= float((true >= radius).mean()) + 1e-12
        if radius < most:
            assert share >= float((true >= 1.25 * radius + 0.04).mean())
    assert certificate.about.startswith("the smoothed classifier")


def test_an_optimal_search_without_gradients_finds_less_or_equal():
    x, y = waves(60)
    model = fitted(x, y)
    spent = Budget(name="few", series=None, attacked=30, radii=(0.1, 0.5), steps=5, queries=100, smoothed=0, draws=10)
    found = audit(model, x[:, 0], y, faults=["noise"], budget=spent)["Pipeline"]
    assert found.attack.method == "Square, 100 queries"
    weight = model[-1].coef_[0] / model[0].scale_
    score = x[:, 0] @ weight + model[-1].intercept_[0] - weight @ model[0].mean_
    unit = float(Spread.of(torch.from_numpy(x[:, 0])[:, :, None]).unit)
    exact = float((np.abs(score) / (np.abs(weight).sum() * unit) > 0.5).mean())
    assert found.attack.accuracy[1].value >= exact - 0.25  # on a part of the samples
    assert found.attack.accuracy[1].value < found.attack.clean


def test_misbehaviour_is_named_and_the_others_go_on(monkeypatch, tmp_path):
    x, y = waves(60)
    calls, clock = [], [0.0]
    monkeypatch.setattr("noisyrnn.auditing.cells.monotonic", lambda: clock[0])

    def sometimes(X):
        calls.append(len(X))
        if len(calls) > 3:
            raise RuntimeError("the sensor board is gone")
        return np.full(len(X), "slow")

    def slow(X):
        clock[0] += 20.0
        return np.full(len(X), "slow")

    some_nan = np.tile([0.4, 0.6], (60, 1))
    some_nan[:7] = np.nan
    bad = {
        "nan": Probabilities(lambda X: some_nan[: len(X)], ["fast", "slow"]),
        "raises": Labels(sometimes),
        "always raises": Labels(lambda X: 1 / 0),
        "strange": Labels(lambda X: np.full(len(X), "sideways")),
        "flat": Probabilities(lambda X: np.full(len(X), 0.5), ["fast", "slow"]),
        "short": Labels(lambda X: np.full(len(X) - 1, "slow")),
        "slow": Labels(slow),
        "good": fitted(x, y),
    }
    found = audit(bad, x, y, faults=["noise", "gap"], budget=FEW, patience=50.0)
    said = {one.name: " ".join((one.failed or "", *one.complaints)) for one in found.reports}
    assert "NaN" in said["nan"]
    assert found["nan"].clean.unanswered == 7
    assert "RuntimeError (the sensor board is gone)" in said["raises"]
    assert found["raises"].cells[-1].accuracy.value == 0.0
    assert "ZeroDivisionError" in said["always raises"]
    assert "'sideways', which is no class of the data" in said["strange"]
    assert found["strange"].clean.accuracy.value == 0.0
    assert "shape (4,) where (4, 2)" in said["flat"]
    assert "shape (3,) where (4,)" in said["short"]
    assert "is slow" in said["slow"]
    assert len(found["slow"].cells) == 2  # after the clean series
    assert said["good"].strip() == ""
    assert found["good"].mean.value > 0.9
    page = found.save(tmp_path).read_text()
    for name in ("nan", "raises", "always raises", "strange", "flat", "short", "slow"):
        assert f'<p class="warning"><b>{name}</b>' in page
    assert '<p class="warning"><b>good</b>' not in page
    assert len(found.summary().splitlines()) <= 5
    assert "good" in found.summary()


def test_corruption_errors_are_those_of_the_reference():
    x, y = waves(120)
    train, test = (x[:60], y[:60]), (x[60:], y[60:])
    found = audit({"model": fitted(*train)}, *test, train=train, budget=FEW)
    model, reference = found["model"], found["1-NN Euclidean (reference)"]
    assert reference.mce == pytest.approx(1.0)
    assert reference.relative_mce == pytest.approx(1.0)
    nearest = ((test[0][:, None] - train[0][None]) ** 2).sum((2, 3)).argmin(1)
    assert reference.clean.accuracy.value == pytest.approx(float((train[1][nearest] == test[1]).mean()))
    for fault in ("shift", "stuck"):
        own = sum(1 - model.cell(fault, k).accuracy.value for k in range(1, 6))
        theirs = sum(1 - reference.cell(fault, k).accuracy.value for k in range(1, 6))
        assert model.corruption_errors[fault] == pytest.approx(own / theirs)
    assert found.conditions.spread == "training"


def test_differences_are_paired_and_better_first():
    x, y = waves(120)
    found = audit({"model": fitted(x[:60], y[:60]), "coin": Labels(lambda X: np.full(len(X), "slow"))}, x[60:], y[60:],
                  budget=FEW)  # fmt: skip
    (only,) = found.differences
    assert (only.better, only.worse) == ("model", "coin")
    assert only.points.value == pytest.approx(found["model"].mean.value - found["coin"].mean.value)
    assert only.clear


def test_faults_seen_in_training_are_marked_and_counted_apart():
    x, y = waves(60)
    model = fitted(x, y)
    found = audit({"model": model}, x, y, faults=["noise", "stuck"], budget=FEW, seen={"model": ["noise"]})
    assert found["model"].seen == ("noise",)
    assert found["model"].unseen_mean.value == found["model"].by_fault["stuck"].value
    assert {row["fault"] for row in found.table() if row["seen"]} == {"noise"}


def test_unequal_lengths_and_channels():
    x, y = waves(40, steps=30, channels=2)
    lengths = np.random.default_rng(0).integers(12, 31, 40)
    series = [one[:, :end] for one, end in zip(x, lengths, strict=True)]

    class Counting:
        def predict(self, X):
            assert isinstance(X, list)
            assert [one.shape[1] for one in X] == lengths[: len(X)].tolist()
            return np.where([np.abs(np.diff(one[0])).mean() > 0.45 for one in X], "fast", "slow")

    found = audit(Counting(), series, y, train=(series, y), budget=FEW)
    assert found.conditions.unequal
    assert found.conditions.reference == ""
    assert "dead channel" in found.conditions.faults
    assert not found["Counting"].complaints
    assert len(found["Counting"].cells) == 18 * 5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x, y: audit(object(), x, y), "no classifier that an audit can ask"),
        (lambda x, y: audit(fitted(x, y), x, y[:-1]), "one class for each of the"),
        (lambda x, y: audit(fitted(x, y), x * np.nan, y), "fill or remove"),
        (lambda x, y: audit(fitted(x, y), x, y, faults=["rust"]), "no fault 'rust'"),
        (lambda x, y: audit(fitted(x, y), x, y, budget="huge"), "quick, standard, thorough"),
        (lambda x, y: audit([], x, y), "at least one classifier"),
        (lambda x, y: audit("missing.onnx", x, y), "does not exist"),
        (lambda x, y: audit(fitted(x, y), x, y, seen={"other": ["noise"]}), "none of Pipeline"),
        (lambda x, y: audit(fitted(x, y), x, y, classes=["slow"]), "'fast'"),
    ],
)
def test_wrong_use_is_refused_in_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said) as caught:
        wrong(*waves(20))
    assert "\n" not in str(caught.value)


def test_budgets_grow():
    calls = [budget(name).calls(1000, 85) for name in ("quick", "standard", "thorough")]
    assert calls == sorted(calls)
    assert math.isfinite(calls[-1])
