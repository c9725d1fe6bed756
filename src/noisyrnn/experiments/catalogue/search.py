"""Choices made on validation samples only: noise levels as the paper drew them, and the baselines' rates on ECG.

Random search (Bergstra and Bengio 2012): each draw is a recipe of its own in an experiment, so that a search is run,
resumed and recorded like a table.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

from noisyrnn.data import ECG5000, MNIST
from noisyrnn.evaluate import Clean
from noisyrnn.experiments.catalogue.measurements import measured
from noisyrnn.experiments.catalogue.recipes import noisy_label, prescribed_on_ecg, with_settings
from noisyrnn.experiments.spec import Experiment, Part, Recipe
from noisyrnn.models import Noisy, preset
from noisyrnn.perturb import Multiplicative, SaltAndPepper, White
from noisyrnn.rows import OURS, Row

_DRAWS = 16
_BASELINE_DRAWS = 8
_RANGE = (0.01, 0.1)
_ON_ECG = measured(Clean(), White(sigma=0.8), Multiplicative(sigma=0.8), part=Part.VALIDATION)
_ON_PIXELS = measured(Clean(), White(sigma=0.2), SaltAndPepper(probability=0.05), part=Part.VALIDATION)
# Bounds of the search, logarithmic: a factor of about ten around what each model's authors prescribe elsewhere.
_BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "antisymmetric": {"train.lr": (5e-4, 1e-2), "model.dt": (0.01, 0.3)},
    "cornn": {"train.lr": (5e-4, 1e-2), "model.dt": (0.02, 0.2), "model.gamma": (0.3, 5.0), "model.epsilon": (0.5, 8)},
    "exprnn": {"train.lr": (2e-4, 5e-3)},
    "lipschitz": {"train.lr": (5e-4, 1e-2), "model.dt": (0.02, 0.3)},
    "lstm": {"train.lr": (5e-4, 1e-2)},
}


def noise_search(task: str = "ecg", *, draws: int = _DRAWS, seed: int = 0) -> Experiment:
    """Noise levels drawn uniformly from [0.01, 0.1], as the paper did, for "ecg" or "ordered-mnist".

    >>> len(noise_search(draws=5).recipes)
    5
    """
    found = Recipe.of(preset(task, "nrnn" if task == "ecg" else "nrnn-small"))
    dice = random.Random(seed)
    recipes = {}
    for _ in range(draws):
        multiplicative, additive = (round(dice.uniform(*_RANGE), 3) for _ in range(2))
        update = {"additive": additive, "multiplicative": multiplicative}
        model = found.model.model_copy(update=update)
        if isinstance(model, Noisy):
            recipes[noisy_label(model)] = found.model_copy(update={"model": model, "source": "random search"})
    return Experiment(
        name=f"noise-search-{task}",
        title=f"Noise levels on {'electrocardiograms' if task == 'ecg' else 'ordered MNIST'}",
        text="Drawn uniformly between 0.01 and 0.1, as the paper did.",
        aside=True,
        claim="in the range of small noise, the noisy RNN is insensitive to the amount",
        data=ECG5000() if task == "ecg" else MNIST(),
        recipes=recipes,
        measurements=_ON_ECG if task == "ecg" else _ON_PIXELS,
        seeds=3 if task == "ecg" else 1,
        protocol=OURS,
    )


def baseline_search(*, draws: int = _BASELINE_DRAWS, seed: int = 0) -> Experiment:
    """Rates and step sizes of the baselines on ECG, for which no paper prescribes them: the prescription, and draws.

    Meant in two rounds: every draw with one seed, then the best few of each baseline with all three, because single
    seeds differ more than good draws do.

    >>> sorted(baseline_search(draws=1).recipes)[:2]
    ['antisymmetric draw 0', 'antisymmetric draw 1']
    """
    dice = random.Random(seed)
    recipes = {}
    for label, bounds in _BOUNDS.items():
        first = prescribed_on_ecg()[label]
        recipes[f"{label} draw 0"] = first.model_copy(update={"variant": "draw 0"})
        for draw in range(1, draws + 1):
            drawn = {key: _rounded(math.exp(dice.uniform(*map(math.log, bound)))) for key, bound in bounds.items()}
            recipes[f"{label} draw {draw}"] = with_settings(
                first, drawn, "random search on validation samples", variant=f"draw {draw}"
            )
    return Experiment(
        name="baseline-search",
        title="How the baselines on electrocardiograms were chosen",
        text="The prescription and eight random draws of rates and step sizes for each baseline.",
        aside=True,
        claim="baselines on ECG with settings chosen on validation samples",
        data=ECG5000(),
        recipes=recipes,
        measurements=_ON_ECG,
        seeds=3,
        protocol=OURS,
    )


def ranking(rows: Iterable[Row], *, among: str = "") -> list[tuple[str, float]]:
    """Labels, best first, and their accuracy on validation samples, mean over measures and seeds.

    Only labels that begin with ``among`` take part, and of these only the ones with the most seeds.

    >>> from noisyrnn.rows import Description
    >>> cell = {"experiment": "search", "description": Description(kind="lstm"), "key": "", "seed": 0, "epochs": 1,
    ...         "task": "ecg", "part": "validation", "measure": "clean"}
    >>> ranking([Row(**cell, model="a draw 1", value=90.0), Row(**cell, model="a draw 2", value=95.0)])
    [('a draw 2', 95.0), ('a draw 1', 90.0)]
    """
    values: dict[str, list[float]] = {}
    seeds: dict[str, set[int]] = {}
    for row in rows:
        if row.part == Part.VALIDATION and row.model.startswith(among):
            values.setdefault(row.model, []).append(row.value)
            seeds.setdefault(row.model, set()).add(row.seed)
    most = max(map(len, seeds.values()), default=0)
    means = {label: sum(found) / len(found) for label, found in values.items() if len(seeds[label]) == most}
    return sorted(means.items(), key=lambda pair: (-pair[1], pair[0]))


def _rounded(value: float) -> float:
    """Three digits, so that a label and a setting can be read aloud."""
    return float(f"{value:.3g}")
