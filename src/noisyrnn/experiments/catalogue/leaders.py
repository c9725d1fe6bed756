"""Is there a recipe on heart beats that is ahead of every rival in every column at once, clean beats included?

Rivals of :mod:`rivals` lead one column or another. The LRU with noise on its inputs leads most of them as it is; what
it lacks under multiplicative noise is looked for here, on validation beats: FGSM examples in training, noise on the
inputs of either kind or of both, all together, and for the most promising mixture twice the units and epochs.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean

from noisyrnn.attack import FGSM
from noisyrnn.data import ECG5000
from noisyrnn.experiments.catalogue.cells import cell_recipe
from noisyrnn.experiments.catalogue.measurements import ecg_table
from noisyrnn.experiments.catalogue.recipes import with_input_noise, with_training
from noisyrnn.experiments.spec import Experiment, Part, Recipe
from noisyrnn.models import LRUSetting
from noisyrnn.perturb import Multiplicative, NoiseUpTo
from noisyrnn.rows import OURS, Row

_CLAIM = "one recipe is ahead of all others on clean and on disturbed heart beats"
_WHITE, _MULTIPLICATIVE, _RADII = (0.4, 0.8), (0.8, 1.2), (0.05, 0.1, 0.2)
_MIXTURES = ((0.8, 0.8), (1.2, 1.2), (1.2, 1.8))
"""Largest strengths of white and of multiplicative noise."""

LEADER = "lru 128 both noises 1.2/1.2 fgsm training 0.2"
"""The recipe that the search found best on validation beats."""


def leader_recipes() -> dict[str, Recipe]:
    """The LRU with noise on its inputs, with FGSM examples, with both, and larger.

    >>> len(leader_recipes())
    37
    """
    plain = cell_recipe("lru")
    inputs = {"lru": plain}
    inputs |= {f"lru input noise {sigma:g}": with_input_noise(plain, sigma) for sigma in _WHITE}
    for sigma in _MULTIPLICATIVE:
        noise = with_training(plain, f"multiplicative input noise {sigma:g}", input_noise=Multiplicative(sigma=sigma))
        inputs[f"lru multiplicative input noise {sigma:g}"] = noise
    inputs |= dict(_both_noises("lru", plain, *strengths) for strengths in _MIXTURES)
    larger = dict(_both_noises("lru 128", _larger(plain), *strengths) for strengths in _MIXTURES[1:])
    attacked = {
        f"{label} fgsm training {radius:g}": with_training(
            recipe, f"FGSM training {radius:g}", adversary=FGSM(radius=radius)
        )
        for label, recipe in {**inputs, **larger}.items()
        for radius in (_RADII if label in inputs else _RADII[1:])
    }
    return {**{label: recipe for label, recipe in {**inputs, **larger}.items() if label != "lru"}, **attacked}


def leader_search() -> Experiment:
    """Every candidate on validation beats; the best of one seed are tried with three."""
    return Experiment(
        name="leader-search",
        title="How a recipe ahead in every column was looked for",
        claim=_CLAIM,
        text="The LRU with noise on its inputs, with FGSM examples in training, with both.",
        aside=True,
        data=ECG5000(),
        recipes=leader_recipes(),
        measurements=ecg_table(Part.VALIDATION),
        seeds=3,
        protocol=OURS,
    )


def leader() -> Experiment:
    """What the search chose, on test beats, beside the LRU as it is; the rivals have a table of their own.

    >>> list(leader().recipes)
    ['lru', 'lru 128 both noises 1.2/1.2 fgsm training 0.2']
    """
    return Experiment(
        name="leader",
        title="A recipe ahead in every column",
        claim=_CLAIM,
        text="The LRU as it is, and trained as the search chose; the rivals stand in their own table.",
        data=ECG5000(),
        recipes={"lru": cell_recipe("lru"), LEADER: leader_recipes()[LEADER]},
        measurements=ecg_table(),
        seeds=10,
        protocol=OURS,
    )


def least_lead(rows: Iterable[Row], rivals: Iterable[Row]) -> dict[str, float]:
    """For each label, the column in which it is least ahead of the best rival there: by how many points, best first.

    Means over seeds; a label with fewer seeds than another, or without a row in every column, does not take part.

    >>> from noisyrnn.rows import Description
    >>> def row(model, measure, value):
    ...     return Row(experiment="", description=Description(kind="lru"), key="", seed=0, epochs=1, task="ecg",
    ...         part="validation", measure=measure, model=model, value=value)
    >>> least_lead([row("a", "clean", 97.0), row("a", "white", 95.0), row("b", "clean", 99.0)],
    ...     [row("r", "clean", 96.0), row("s", "clean", 95.0), row("r", "white", 90.0), row("s", "white", 96.0)])
    {'a': -1.0}
    """
    best: dict[tuple[str, float], float] = {}
    for (_, column), values in _cells(rivals).items():
        best[column] = max(best.get(column, 0.0), mean(values))
    cells = _cells(rows)
    most = max(len(values) for values in cells.values())
    found = {cell: mean(values) for cell, values in cells.items() if len(values) == most}
    labels = {label for label, _ in found}
    whole = {label for label in labels if all((label, column) in found for column in best)}
    least = {label: min(found[label, column] - rival for column, rival in best.items()) for label in whole}
    return dict(sorted(least.items(), key=lambda pair: (-pair[1], pair[0])))


def _both_noises(label: str, recipe: Recipe, white: float, multiplicative: float) -> tuple[str, Recipe]:
    said = f"input noise up to {white:g}, multiplicative up to {multiplicative:g}"
    noise = NoiseUpTo(sigma=white, ratio=multiplicative / white)
    return f"{label} both noises {white:g}/{multiplicative:g}", with_training(recipe, said, input_noise=noise)


def _larger(recipe: Recipe) -> Recipe:
    train = recipe.train.model_copy(update={"epochs": 100, "decay": {90: 0.1}})
    return recipe.model_copy(update={"model": LRUSetting(hidden=128), "train": train, "variant": "128 units"})


def _cells(rows: Iterable[Row]) -> dict[tuple[str, tuple[str, float]], list[float]]:
    values: dict[tuple[str, tuple[str, float]], list[float]] = {}
    for row in rows:
        values.setdefault((row.model, (row.measure, row.level)), []).append(row.value)
    return values
