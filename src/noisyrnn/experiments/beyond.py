"""Questions that the paper left open, on ECG: which noise does it, how much; and would simpler means do as well?"""

from __future__ import annotations

from noisyrnn.attack import FGSM
from noisyrnn.data import ECG5000
from noisyrnn.evaluate import Clean, Measure
from noisyrnn.experiments.paper import ecg_recipes, measured, noisy_label, with_input_noise
from noisyrnn.experiments.search import OURS
from noisyrnn.experiments.spec import Experiment, Measurement, Part, Recipe
from noisyrnn.models import Noisy, preset
from noisyrnn.perturb import Multiplicative, White

_LEVELS = (0.4, 0.8, 1.2)
_MEASURES: tuple[Measure, ...] = (
    Clean(),
    *(White(sigma=sigma) for sigma in _LEVELS),
    *(Multiplicative(sigma=sigma) for sigma in _LEVELS),
)
_STRENGTHS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.8)
_INPUT_NOISE = (0.2, 0.4, 0.8, 1.2)
_DROPOUT = (0.1, 0.2, 0.4, 0.6)
_RADII = (0.05, 0.1, 0.2, 0.4)
_STRONGER = (0.1, 0.2, 0.4, 0.8)


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
        claim="the noisy RNN is insensitive to the amount of noise, and needs both kinds",
        data=ECG5000(),
        recipes=recipes,
        measurements=measured(*_MEASURES),
        seeds=5,
        protocol=OURS,
    )


def rivals(part: Part = Part.TEST) -> Experiment:
    """What a practitioner would try instead, four strengths each; chosen on validation samples, then tested.

    >>> rivals().recipes["lstm input noise 0.8"].train.input_noise.sigma
    0.8
    """
    own = ecg_recipes()
    noisy = own["nrnn mult 0.03 add 0.06"]
    recipes = {label: own[label] for label in ("lipschitz", "lstm", "nrnn mult 0.03 add 0.06")}
    for label in ("lipschitz", "lstm"):
        recipe = own[label]
        for sigma in _INPUT_NOISE:
            recipes[f"{label} input noise {sigma:g}"] = with_input_noise(recipe, sigma)
        for share in _DROPOUT:
            recipes[f"{label} dropout {share:g}"] = _trained(recipe, dropout=share)
        for radius in _RADII:
            recipes[f"{label} fgsm training {radius:g}"] = _trained(recipe, adversary=FGSM(radius=radius))
    recipes |= dict(_noisy(additive, 0.03) for additive in _STRONGER)
    for sigma in _INPUT_NOISE:
        recipes[f"nrnn mult 0.03 add 0.06 input noise {sigma:g}"] = with_input_noise(noisy, sigma)
    return Experiment(
        name="rivals" if part is Part.TEST else "rivals-search",
        claim="noise in the hidden states beats noise in the inputs, dropout and adversarial training",
        data=ECG5000(),
        recipes=recipes,
        measurements=tuple(Measurement(measure=measure, part=part) for measure in _MEASURES),
        seeds=10 if part is Part.TEST else 3,
        protocol=OURS,
    )


def _noisy(additive: float, multiplicative: float) -> tuple[str, Recipe]:
    recipe = Recipe.of(preset("ecg", "nrnn"))
    model = Noisy.model_validate({**recipe.model.model_dump(), "additive": additive, "multiplicative": multiplicative})
    return noisy_label(model), recipe.model_copy(update={"model": model, "source": OURS})


def _trained(recipe: Recipe, **update: object) -> Recipe:
    return recipe.model_copy(update={"train": recipe.train.model_copy(update=update), "source": OURS})
