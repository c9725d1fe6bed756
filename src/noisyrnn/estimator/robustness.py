"""How accuracy falls as sensors get worse: a curve for each kind of fault, and what attacks leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length

from noisyrnn.attack import Attack
from noisyrnn.evaluate.accuracies import attacked, name_of
from noisyrnn.perturb.mixture import FaultMixture
from noisyrnn.randomness import stream

if TYPE_CHECKING:
    from noisyrnn.estimator.classifier import NoisyRNNClassifier

LEVELS: dict[str, tuple[float, ...]] = {
    "white": (0.25, 0.5, 1.0),
    "multiplicative": (0.25, 0.5, 1.0),
    "drift": (0.5, 1.0, 2.0),
    "wander": (0.25, 0.5, 1.0),
    "hold": (0.1, 0.2, 0.4),
    "zero": (0.1, 0.2, 0.4),
    "burst": (0.1, 0.2, 0.4),
    "spikes": (0.02, 0.05, 0.1),
    "warp": (0.015, 0.03, 0.06),
    "clip": (2.0, 1.0, 0.5),
}
"""Kinds of faults and their levels, from mild to heavy (``noisyrnn.perturb.series_faults`` has the formulas)."""


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Accuracies in [0, 1]: clean, by kind and level, and by attack; ``seen`` are the kinds of the training."""

    clean: float
    curves: dict[str, dict[float, float]]
    attacks: dict[str, float]
    seen: tuple[str, ...]
    series: int

    @property
    def disturbed(self) -> float:
        """Mean accuracy over all kinds and levels."""
        return float(np.mean([value for curve in self.curves.values() for value in curve.values()]))

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        curves = {kind: {f"{level:g}": value for level, value in curve.items()} for kind, curve in self.curves.items()}
        return {**vars(self), "seen": list(self.seen), "curves": curves, "disturbed": self.disturbed}

    def __str__(self) -> str:
        lines = [f"{'clean':<28}{100 * self.clean:6.1f} %  ({self.series} series)"]
        for kind, curve in self.curves.items():
            values = "  ".join(f"{level:g}: {100 * value:.1f}" for level, value in curve.items())
            lines.append(f"{kind + ('' if kind in self.seen else ' (unseen)'):<28}{values}")
        lines += [f"{name:<28}{100 * value:6.1f} %" for name, value in self.attacks.items()]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Curves over levels (1, 2, 3: mild to heavy), dashed for kinds that the training did not have."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()
        for kind, curve in self.curves.items():
            heights = [100 * self.clean, *(100 * value for value in curve.values())]
            ax.plot(range(len(heights)), heights, "-" if kind in self.seen else "--", label=kind)
        ax.set_xticks(range(1 + max(map(len, self.curves.values()), default=0)))
        ax.set_xlabel("level of the disturbance (0: none)")
        ax.set_ylabel("accuracy, %")
        ax.legend(fontsize="small", ncols=2)
        return ax


def curves(
    classifier: NoisyRNNClassifier,
    X: Any,
    y: Any,
    *,
    attacks: Iterable[Attack] = (),
    faults: Mapping[str, Iterable[float]] | None = None,
    times: Any = None,
    seed: int = 0,
) -> Robustness:
    """Accuracy on series X with classes y, clean, under each fault at each level, and under each attack.

    Levels count in deviations of the training data; every classifier sees the same faults for the same ``seed``.
    """
    x, call = classifier.tensors(X, times)
    targets = np.asarray(y)
    check_consistent_length(x, targets)
    known = {label: code for code, label in enumerate(classifier.classes_.tolist())}
    codes = torch.tensor([known.get(label, -1) for label in targets.tolist()])
    lengths = call.get("lengths")

    def accuracy(disturbed: torch.Tensor) -> float:
        return float((classifier.probabilities(disturbed, call).argmax(1) == codes).double().mean())

    found: dict[str, dict[float, float]] = {}
    for kind, levels in (LEVELS if faults is None else faults).items():
        found[kind] = {}
        for level in levels:
            mixture, generator = FaultMixture.only(kind, float(level)), stream("robustness", kind, float(level), seed)
            found[kind][float(level)] = accuracy(faulty(mixture, x, generator, len(classifier.preparation_.mean), call))
    by_attack: dict[str, float] = {}
    for attack in attacks:
        if classifier.companion_ is not None:
            raise ValueError("Attacks need gradients, which a companion does not have: train with companion=None.")
        if "dt" in call:
            raise ValueError("Attacks do not take step sizes yet: leave attacks out for a classifier with times.")
        generator = stream("robustness", attack.kind, seed)
        worst = attacked(classifier.network_, x, codes.clamp(min=0), attack, generator, lengths=lengths)
        by_attack[f"{name_of(attack)} {attack.level:g}"] = accuracy(worst)
    mixture = classifier.training_.faults
    seen = () if mixture is None else tuple(one.kind for one in mixture.kinds)
    return Robustness(clean=accuracy(x), curves=found, attacks=by_attack, seen=seen, series=len(x))


def faulty(
    mixture: FaultMixture, x: torch.Tensor, generator: torch.Generator, channels: int, call: Mapping[str, Any]
) -> torch.Tensor:
    """x~ of the channels themselves; those that say what is missing stay as they are."""
    disturbed = mixture(x[..., :channels], generator, lengths=call.get("lengths"))
    return disturbed if x.shape[2] == channels else torch.cat([disturbed, x[..., channels:]], dim=2)
