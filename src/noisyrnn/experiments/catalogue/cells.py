"""The paper's noise in other recurrences, on heart beats: is it the noise that helps, or the noise in that network?"""

from __future__ import annotations

from noisyrnn.data import ECG5000
from noisyrnn.experiments.catalogue.measurements import ecg_table
from noisyrnn.experiments.catalogue.recipes import with_input_noise
from noisyrnn.experiments.spec import Experiment, Part, Recipe
from noisyrnn.models import LRUSetting, MinGRUSetting, NoisyGRUSetting
from noisyrnn.rows import OURS
from noisyrnn.train import Train

_CLAIM = "noise in the hidden states helps a GRU, an LRU and a minGRU as it helps the paper's network"
_TEXT = (
    "A GRU, a minGRU of two layers and an LRU, of 64 units each, without noise, with the paper's noise in their hidden "
    "states (multiplicative/additive, as released, steps of size 1), with white noise on their inputs, with both."
)
_SETTINGS = {
    "gru": NoisyGRUSetting(hidden=64),
    "mingru": MinGRUSetting(hidden=64, num_layers=2),
    "lru": LRUSetting(hidden=64),
}
_HIDDEN = ((0.03, 0.06), (0.1, 0.2))
_INPUT = (0.4, 0.8)
_TRAIN = Train(epochs=50, decay={45: 0.1})
_RATES = {"gru": 5e-3, "mingru": 1e-2, "lru": 3e-3}
"""One try each on validation beats: all three learn the task with them."""

CHOSEN = {"gru": ((0.1, 0.2), 0.8), "mingru": ((0.1, 0.2), 0.8), "lru": ((0.03, 0.06), 0.8)}
"""Strengths of hidden and of input noise that the search found best on validation beats."""


def cells_search() -> Experiment:
    """Two strengths of each noise on validation beats, with one seed: the same budget for each cell.

    >>> len(cells_search().recipes)
    15
    """
    recipes = {label: cell_recipe(label) for label in _SETTINGS}
    for label in _SETTINGS:
        recipes |= dict(_hidden(label, strengths) for strengths in _HIDDEN)
        recipes |= dict(_inputs(label, recipes[label], sigma) for sigma in _INPUT)
    return Experiment(
        name="noisy-cells-search",
        title="How the noise of other cells was chosen",
        claim=_CLAIM,
        text="Two strengths of hidden noise and two of input noise for each cell, with one seed.",
        aside=True,
        data=ECG5000(),
        recipes=recipes,
        measurements=ecg_table(Part.VALIDATION),
        seeds=1,
        protocol=OURS,
    )


def noisy_cells() -> Experiment:
    """Each cell without noise, with hidden noise, with input noise, with both, on test beats.

    >>> list(noisy_cells().recipes)[:4]
    ['gru', 'gru mult 0.1 add 0.2', 'gru input noise 0.8', 'gru mult 0.1 add 0.2 input noise 0.8']
    """
    recipes: dict[str, Recipe] = {}
    for label, (strengths, sigma) in CHOSEN.items():
        plain, (noisy, with_noise) = cell_recipe(label), _hidden(label, strengths)
        recipes |= {label: plain, noisy: with_noise}
        recipes |= dict((_inputs(label, plain, sigma), _inputs(noisy, with_noise, sigma)))
    return Experiment(
        name="noisy-cells",
        title="The same noise in other networks",
        claim=_CLAIM,
        text=_TEXT,
        data=ECG5000(),
        recipes=recipes,
        measurements=ecg_table(),
        seeds=5,
        protocol=OURS,
    )


def cell_recipe(label: str) -> Recipe:
    """The cell of that label without noise, and how it is trained.

    >>> cell_recipe("lru").train.epochs
    50
    """
    train = _TRAIN.model_copy(update={"lr": _RATES[label]})
    return Recipe(model=_SETTINGS[label], train=train, source=OURS)


def _hidden(label: str, strengths: tuple[float, float]) -> tuple[str, Recipe]:
    multiplicative, additive = strengths
    recipe = cell_recipe(label)
    model = recipe.model.model_copy(update={"multiplicative": multiplicative, "additive": additive})
    said = f"hidden noise {multiplicative:g}/{additive:g}"
    named = f"{label} mult {multiplicative:g} add {additive:g}"
    return named, recipe.model_copy(update={"model": model, "variant": said})


def _inputs(label: str, recipe: Recipe, sigma: float) -> tuple[str, Recipe]:
    return f"{label} input noise {sigma:g}", with_input_noise(recipe, sigma)
