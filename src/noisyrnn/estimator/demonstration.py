"""The whole story on digits, by the public API: fit a plain and a robust classifier, disturb, attack, certify: a page.

Digits of 8 by 8 pixels come with scikit-learn and are read pixel by pixel, 64 instants each.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from noisyrnn.attack import FGSM, PGD
from noisyrnn.estimator.advice import interval
from noisyrnn.estimator.certificates import Certified
from noisyrnn.estimator.classifier import NoisyRNNClassifier
from noisyrnn.estimator.robustness import Robustness

SHOWN = {"white": (0.25, 0.5, 1.0), "hold": (0.1, 0.2, 0.4), "burst": (0.1, 0.2, 0.4), "spikes": (0.02, 0.05, 0.1)}


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """Robustness of both classifiers on the same digits, and radii of some for the robust one."""

    plain: Robustness
    robust: Robustness
    certified: Certified
    labels: np.ndarray

    @property
    def outcome(self) -> str:
        """What came out, in two sentences."""
        low, high = interval(round(self.robust.clean * self.robust.series), self.robust.series)
        radius = float(np.median(self.certified.radius))
        return (
            f"Trained on sensor faults and with noise in its state, the classifier finds {_percent(self.robust.clean)} "
            f"of unseen digits (95 % interval {100 * low:.1f} to {100 * high:.1f}) and "
            f"{_percent(self.robust.disturbed)} of disturbed ones; trained without either, "
            f"{_percent(self.plain.clean)} and {_percent(self.plain.disturbed)}. By {self.certified.method}, half of "
            f"{len(self.labels)} digits keep their class within a distance of {radius:.2f}."
        )


def demonstrate(
    *, epochs: int = 80, seed: int = 0, told: Callable[[str], None] = lambda line: None, series: int = 500
) -> Demonstration:
    """Both classifiers, trained for ``epochs`` on ``series`` digits, and what they stand."""
    pixels, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(
        pixels, y, train_size=series, test_size=200, stratify=y, random_state=seed
    )
    found = {}
    for name, arguments in (("plain", {"model": "lipschitz", "faults": None}), ("robust", {"hidden_noise": 0.1})):
        told(f"training the {name} classifier")
        # The network by itself, because a companion has no gradients to attack it by.
        classifier = NoisyRNNClassifier(**arguments, companion=None, n_epochs=epochs, random_state=seed)
        classifier.fit(train, y_train)
        told(f"disturbing and attacking the {name} classifier")
        attacks = (FGSM(radius=0.1), PGD(radius=0.1, steps=10))
        found[name] = classifier.robustness(test, y_test, attacks=attacks, faults=SHOWN)
    told("certifying")
    certified = classifier.certify(test[:20], sigma=0.25, draws=200)
    return Demonstration(plain=found["plain"], robust=found["robust"], certified=certified, labels=y_test[:20])


def summary(found: Demonstration) -> str:
    """A small table for a terminal."""
    lines = [f"{'accuracy, %':<22}{'plain':>8}{'robust':>8}"]
    lines += [f"{name:<22}{100 * plain:>8.1f}{100 * robust:>8.1f}" for name, plain, robust in _rows(found)]
    return "\n".join([*lines, "", found.outcome])


def page(found: Demonstration) -> str:
    """One HTML page, complete by itself; its outcome comes first."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{100 * plain:.1f}</td><td>{100 * robust:.1f}</td></tr>"
        for name, plain, robust in _rows(found)
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>noisyrnn: a demonstration</title>
<style>body {{ font: 16px/1.5 sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }}
td, th {{ padding: .2rem .8rem; border-bottom: 1px solid #ccc; text-align: right }}
td:first-child, th:first-child {{ text-align: left }} svg {{ max-width: 100%; height: auto }}</style></head><body>
<h1>Digits, read pixel by pixel by bad sensors</h1>
<p><strong>{html.escape(found.outcome)}</strong></p>
<h2>Accuracy, %</h2>
<table><tr><th>disturbance</th><th>plain</th><th>robust</th></tr>{rows}</table>
<h2>Under growing faults</h2>
{_picture(found)}
<h2>Certified</h2>
<p>{html.escape(str(found.certified))}</p>
<p>Faults count in deviations of the training data; attacks move every pixel by at most 0.1 of them.
The page was made by <code>noisyrnn demo</code>, with the classifiers of <code>noisyrnn.NoisyRNNClassifier</code>.</p>
</body></html>
"""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _rows(found: Demonstration) -> list[tuple[str, float, float]]:
    rows = [("clean", found.plain.clean, found.robust.clean)]
    for kind, curve in found.robust.curves.items():
        rows += [(f"{kind} {level:g}", found.plain.curves[kind][level], value) for level, value in curve.items()]
    return rows + [(name, found.plain.attacks[name], value) for name, value in found.robust.attacks.items()]


def _picture(found: Demonstration) -> str:
    """A panel for each fault: accuracy against its level, of both classifiers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 2.8), layout="constrained")
    panels = figure.subplots(1, len(found.robust.curves), sharey=True, squeeze=False)[0]
    for axes, kind in zip(panels, found.robust.curves, strict=True):
        for name, one, style in (("plain", found.plain, "--"), ("robust", found.robust, "-")):
            curve = {0.0: one.clean, **one.curves[kind]}
            axes.plot([*curve], [100 * share for share in curve.values()], style, marker="o", label=name)
        axes.set(title=kind, xlabel="level")
    panels[0].set_ylabel("accuracy, %")
    panels[0].legend()
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    text = buffer.getvalue()
    label = "Accuracy of the plain and the robust classifier under growing faults"
    return text[text.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
