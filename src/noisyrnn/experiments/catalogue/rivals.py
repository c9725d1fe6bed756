"""Questions that the paper left open, on ECG: which noise does it, how much; and would simpler means do as well?"""

from __future__ import annotations

from collections.abc import Sequence

from noisyrnn.attack import FGSM
from noisyrnn.data import ECG5000
from noisyrnn.experiments.catalogue.measurements import ecg_table
from noisyrnn.experiments.catalogue.recipes import (
    ecg_recipes,
    noisy_label,
    with_expected_loss,
    with_input_noise,
    with_mixup,
    with_training,
)
from noisyrnn.experiments.spec import Experiment, Part, Recipe
from noisyrnn.models import Noisy, preset
from noisyrnn.rows import OURS

_CLAIM = "noise in the hidden states beats noise in the inputs, dropout and adversarial training"
_STRENGTHS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.8)
_INPUT_NOISE = (0.2, 0.4, 0.8, 1.2)
_DROPOUT = (0.1, 0.2, 0.4, 0.6)
_RADII = (0.05, 0.1, 0.2, 0.4)
_STRONGER = (0.1, 0.2, 0.4, 0.8)
_MIXTURES = (0.1, 0.2, 0.4, 0.8)
_EPSILONS = (1.0, 2.0)

RIVALS = {
    "lipschitz input noise": "lipschitz input noise 0.8",
    "lipschitz dropout": "lipschitz dropout 0.6",
    "lipschitz fgsm training": "lipschitz fgsm training 0.1",
    "lstm input noise": "lstm input noise 0.4",
    "lstm dropout": "lstm dropout 0.1",
    "lstm fgsm training": "lstm fgsm training 0.2",
    "stronger nrnn": "nrnn mult 0.03 add 0.1",
    "nrnn input noise": "nrnn mult 0.03 add 0.06 input noise 0.8",
    "stronger nrnn input noise": "nrnn mult 0.03 add 0.1 input noise 0.8",
    "lipschitz input noise fgsm training": "lipschitz input noise 0.8 fgsm training 0.1",
    "nrnn input noise fgsm training": "nrnn mult 0.03 add 0.06 input noise 0.8 fgsm training 0.1",
}
"""The strength of each family that the search found best on validation samples."""


def ablation() -> Experiment:
    """Only additive, only multiplicative, both, each over the same grid of strengths; 0 is the noise-free network.

    >>> [label for label in ablation().recipes if label.endswith("add 0.4")]
    ['nrnn mult 0 add 0.4', 'nrnn mult 0.4 add 0.4']
    """
    pairs = [(0.0, 0.0)]
    for strength in _STRENGTHS:
        pairs += [(strength, 0.0), (0.0, strength), (strength, strength)]
    recipes = dict(_noisy(additive, multiplicative) for additive, multiplicative in pairs)
    return Experiment(
        name="ablation",
        title="Which noise, and how much",
        text="The question that the paper left open, on electrocardiograms: only multiplicative noise, only additive, "
        "both.",
        claim="the noisy RNN is insensitive to the amount of noise, and needs both kinds",
        data=ECG5000(),
        recipes=recipes,
        measurements=ecg_table(),
        seeds=5,
        protocol=OURS,
    )


def rival_families() -> dict[str, dict[str, Recipe]]:
    """What a practitioner would try instead, and with the noisy RNN: families of four strengths, by name and label.

    >>> families = rival_families()
    >>> {len(recipes) for recipes in families.values()}
    {4}
    >>> families["lstm input noise"]["lstm input noise 0.8"].train.input_noise.sigma
    0.8
    """
    own = ecg_recipes()
    families: dict[str, dict[str, Recipe]] = {}
    for label in ("lipschitz", "lstm"):
        recipe = own[label]
        families[f"{label} input noise"] = _noisy_inputs(label, recipe, _INPUT_NOISE)
        families[f"{label} dropout"] = {
            f"{label} dropout {share:g}": with_training(recipe, f"dropout {share:g}", dropout=share)
            for share in _DROPOUT
        }
        families[f"{label} fgsm training"] = {
            f"{label} fgsm training {radius:g}": _attacked(recipe, radius) for radius in _RADII
        }
    families["stronger nrnn"] = dict(_noisy(additive, 0.03) for additive in _STRONGER)
    paper = "nrnn mult 0.03 add 0.06"
    families["nrnn input noise"] = _noisy_inputs(paper, own[paper], _INPUT_NOISE)
    families["stronger nrnn input noise"] = {}
    for additive in _STRONGER[:2]:
        families["stronger nrnn input noise"] |= _noisy_inputs(*_noisy(additive, 0.03), _INPUT_NOISE[1:3])
    for name, label, radii in (("lipschitz", "lipschitz", _RADII[:2]), ("nrnn", paper, _RADII[1:3])):
        families[f"{name} input noise fgsm training"] = {
            f"{noisy} fgsm training {radius:g}": _attacked(recipe, radius)
            for noisy, recipe in _noisy_inputs(label, own[label], _INPUT_NOISE[1:3]).items()
            for radius in radii
        }
    return families


def later_families() -> dict[str, dict[str, Recipe]]:
    """Families that joined the search later: mixed states, and Theorem 1's regulariser in the place of noise.

    The expected loss, which takes three times as long as noise does, has two strengths.

    >>> {name: len(recipes) for name, recipes in later_families().items()}
    {'lipschitz mixup': 4, 'nrnn mixup': 4, 'expected loss': 2}
    """
    own, paper = ecg_recipes(), "nrnn mult 0.03 add 0.06"
    families: dict[str, dict[str, Recipe]] = {}
    for name, label in (("lipschitz", "lipschitz"), ("nrnn", paper)):
        families[f"{name} mixup"] = {
            f"{label} mixup {strength:g}": with_mixup(own[label], strength) for strength in _MIXTURES
        }
    families["expected loss"] = {
        f"{paper} expected loss {epsilon:g}": with_expected_loss(own[paper], epsilon) for epsilon in _EPSILONS
    }
    return families


def rivals_search() -> Experiment:
    """Every strength of every family on validation samples, with one seed: the same budget for each."""
    return Experiment(
        name="rivals-search",
        title="How the strengths of the rivals were chosen",
        claim=_CLAIM,
        text="Four strengths of each, with one seed.",
        aside=True,
        data=ECG5000(),
        recipes={
            label: recipe
            for family in (*rival_families().values(), *later_families().values())
            for label, recipe in family.items()
        },
        measurements=ecg_table(Part.VALIDATION),
        seeds=1,
        protocol=OURS,
    )


def best_rivals() -> Experiment:
    """The best of each family on test samples, beside the networks that they begin from.

    >>> sorted(set(RIVALS.values()) - best_rivals().recipes.keys())
    []
    """
    own, families = ecg_recipes(), rival_families()
    recipes = {label: own[label] for label in ("lipschitz", "lstm", "nrnn mult 0.03 add 0.06")}
    recipes |= {label: families[family][label] for family, label in RIVALS.items()}
    return Experiment(
        name="rivals",
        title="What one could try instead",
        claim=_CLAIM,
        text="Noise on the inputs in training, dropout, adversarial training, stronger noise, on electrocardiograms.",
        data=ECG5000(),
        recipes=recipes,
        measurements=ecg_table(),
        seeds=10,
        protocol=OURS,
    )


def _noisy_inputs(label: str, recipe: Recipe, strengths: Sequence[float]) -> dict[str, Recipe]:
    return {f"{label} input noise {sigma:g}": with_input_noise(recipe, sigma) for sigma in strengths}


def _noisy(additive: float, multiplicative: float) -> tuple[str, Recipe]:
    recipe = Recipe.of(preset("ecg", "nrnn"))
    model = Noisy.model_validate({**recipe.model.model_dump(), "additive": additive, "multiplicative": multiplicative})
    return noisy_label(model), recipe.model_copy(update={"model": model, "source": OURS})


def _attacked(recipe: Recipe, radius: float) -> Recipe:
    return with_training(recipe, f"FGSM training {radius:g}", adversary=FGSM(radius=radius))
