"""Would simpler means do as well on ordered MNIST: noise on inputs, adversarial training, mixed states, expected loss?

Strengths are chosen on validation images after a few epochs, by the same budget for each family. The expected loss,
which takes three times as long as noise does, has the strength of the noise that it stands for, and nothing to choose.
"""

from __future__ import annotations

from noisyrnn.attack import FGSM
from noisyrnn.data import MNIST
from noisyrnn.evaluate import Clean
from noisyrnn.experiments.catalogue.measurements import FAST_GRADIENT, PIXEL_TABLE, STRONGEST, measured
from noisyrnn.experiments.catalogue.recipes import (
    mnist_recipes,
    with_expected_loss,
    with_input_noise,
    with_mixup,
    with_training,
)
from noisyrnn.experiments.spec import Experiment, Part, Recipe
from noisyrnn.perturb import SaltAndPepper, White
from noisyrnn.rows import OURS

_NOISY = "nrnn mult 0.02 add 0.05"
PIXEL_RIVALS = {
    "lipschitz input noise": "lipschitz input noise 0.4",
    "nrnn input noise": "nrnn mult 0.02 add 0.05 input noise 0.1",
    "lipschitz fgsm training": "lipschitz fgsm training 0.02",
    "lipschitz mixup": "lipschitz mixup 0.8",
}
"""The strength of each family that the search found best on validation images."""
_INPUT_NOISE = (0.05, 0.1, 0.2, 0.4)
_RADII = (0.01, 0.02, 0.05, 0.1)
_MIXTURES = (0.1, 0.2, 0.4, 0.8)
_SHORT, _EPOCHS = 3, 30
"""Epochs of the search, and of the table."""
_CLAIM = "noise in the hidden states beats noise in the inputs, adversarial training and mixed states"
_FAST = tuple(one for one in FAST_GRADIENT if one.name == "fgsm")
_STRONG = tuple(one for one in STRONGEST if one.name in ("square", "union"))
_CHOSEN_BY = measured(
    Clean(), White(sigma=0.2), SaltAndPepper(probability=0.05), FGSM(radius=0.05), part=Part.VALIDATION
)


def pixel_rival_families() -> dict[str, dict[str, Recipe]]:
    """What one would try instead of hidden noise, and with it: families by name, their strengths by label.

    >>> {name: len(recipes) for name, recipes in pixel_rival_families().items()}
    {'lipschitz input noise': 4, 'nrnn input noise': 4, 'lipschitz fgsm training': 4, 'lipschitz mixup': 4}
    """
    own = mnist_recipes("ordered-mnist")
    plain, noisy = own["lipschitz"], own[_NOISY]
    return {
        "lipschitz input noise": {f"lipschitz input noise {s:g}": with_input_noise(plain, s) for s in _INPUT_NOISE},
        "nrnn input noise": {f"{_NOISY} input noise {s:g}": with_input_noise(noisy, s) for s in _INPUT_NOISE},
        "lipschitz fgsm training": {
            f"lipschitz fgsm training {radius:g}": with_training(
                plain, f"FGSM training {radius:g}", adversary=FGSM(radius=radius)
            )
            for radius in _RADII
        },
        "lipschitz mixup": {f"lipschitz mixup {strength:g}": with_mixup(plain, strength) for strength in _MIXTURES},
    }


def pixel_rivals_search() -> Experiment:
    """Every strength of every family after a few epochs, on validation images, with one seed.

    >>> {recipe.train.epochs for recipe in pixel_rivals_search().recipes.values()}
    {3}
    """
    short = {"epochs": _SHORT, "decay": {}}
    return Experiment(
        name="rivals-mnist-search",
        title="How the strengths of the rivals on ordered MNIST were chosen",
        claim=_CLAIM,
        text=f"After {_SHORT} epochs, with one seed.",
        aside=True,
        data=MNIST(),
        recipes={
            label: recipe.model_copy(update={"train": recipe.train.model_copy(update=short)})
            for family in pixel_rival_families().values()
            for label, recipe in family.items()
        },
        measurements=_CHOSEN_BY,
        seeds=1,
        protocol=OURS,
    )


def best_pixel_rivals() -> Experiment:
    """The best of each family on test images, beside the networks that they begin from, and the expected loss.

    >>> [label for label in best_pixel_rivals().recipes if "expected" in label]
    ['nrnn mult 0.02 add 0.05 expected loss 1']
    """
    own, families = mnist_recipes("ordered-mnist"), pixel_rival_families()
    recipes = {label: own[label] for label in ("lipschitz", _NOISY)}
    recipes |= {label: families[family][label] for family, label in PIXEL_RIVALS.items()}
    recipes[f"{_NOISY} expected loss 1"] = with_expected_loss(own[_NOISY], 1.0)
    return Experiment(
        name="rivals-mnist",
        title="What one could try instead on ordered MNIST",
        claim=_CLAIM,
        text="Noise on the inputs in training, adversarial training, mixed states, and the regulariser of Theorem 1 as "
        "a loss instead of noise; the union of attacks on 1000 images, the search without gradients on 200.",
        data=MNIST(),
        recipes={
            label: recipe.model_copy(update={"train": recipe.train.shortened(_EPOCHS)})
            for label, recipe in recipes.items()
        },
        measurements=(*PIXEL_TABLE, *_FAST, *_STRONG),
        seeds=1,
        protocol=OURS,
    )
