"""A classifier of ours in memory, saved, as torch module and as ONNX file: the same numbers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from known import waves

from noisyrnn.auditing import audit
from noisyrnn.auditing.budget import Budget

estimator = pytest.importorskip("noisyrnn.estimator")

FEW = Budget(name="few", series=None, attacked=8, radii=(0.1, 0.4), steps=4, queries=12, smoothed=3, draws=40)


class Natural(torch.nn.Module):
    """Series in natural units -> logits."""

    def __init__(self, classifier) -> None:
        super().__init__()
        self.network = classifier.network_
        self.mean = torch.tensor(classifier.preparation_.mean)
        self.deviation = torch.tensor(classifier.preparation_.deviation)

    def forward(self, x):
        return self.network((x.transpose(1, 2) - self.mean) / self.deviation, noise=False)


def test_one_classifier_of_ours_in_every_guise(tmp_path: Path) -> None:
    x, y = waves(60, steps=32)
    made = estimator.NoisyRNNClassifier(hidden_size=8, n_epochs=6, random_state=0, companion=None).fit(x[:30], y[:30])
    guises = {"memory": made, "saved": made.save(tmp_path / "saved"), "torch": Natural(made)}
    if os.environ.get("NOISYRNN_EXTRAS"):  # make extras: torch exports nothing whose shapes are checked as it runs
        from noisyrnn.export import export_onnx

        guises["onnx"] = export_onnx(made, tmp_path / "ours.onnx")
    found = audit(guises, x[30:], y[30:], train=(x[:30], y[:30]), faults=["noise", "gap", "shift"], budget=FEW)
    assert {one.name: (one.failed, one.complaints) for one in found.reports} == dict.fromkeys(
        [*guises, "1-NN Euclidean (reference)"], (None, ())
    )
    first = found["memory"]
    assert set(first.seen) == {"noise", "shift"}
    for name in guises:
        other = found[name]
        assert [cell.accuracy for cell in other.cells] == [cell.accuracy for cell in first.cells]
        for mine, theirs in zip(first.cells, other.cells, strict=True):
            assert mine.brier == pytest.approx(theirs.brier, abs=1e-4)
        assert other.certificates[0].accuracy == first.certificates[0].accuracy
        if name != "onnx":  # which has no gradients
            assert other.attack.method.startswith("APGD")
            assert other.attack.accuracy == first.attack.accuracy
