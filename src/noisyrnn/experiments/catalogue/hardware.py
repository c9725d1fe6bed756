"""Where noise in hidden states might pay: on hardware that keeps states and weights badly."""

from __future__ import annotations

from noisyrnn.data import ECG5000, MNIST
from noisyrnn.evaluate import Clean
from noisyrnn.experiments.catalogue.measurements import measured
from noisyrnn.experiments.catalogue.recipes import ecg_recipes, mnist_recipes, noisy_label, with_input_noise
from noisyrnn.experiments.spec import Experiment, Measurement, Recipe
from noisyrnn.models import Noisy, preset
from noisyrnn.rnn import FlippedUnits, StateNoise, StateRounding, StuckUnits, WeightNoise, WeightRounding
from noisyrnn.rows import OURS

_CLAIM = "noise in the hidden states while training guards against faults of states and weights in use"
_TEXT = (
    "Networks as trained, run on hardware that adds noise to their states after every input, keeps states in few bits, "
    "has units that are stuck at 0 or lose their sign now and then, or holds weights inexactly. Noise is in units of "
    "the state's own root mean square; state, LSTM cell included, is everything that a network remembers."
)
INPUT_NOISE = 0.8
"""Of training, as the search for rivals found it best on validation beats."""


def faults(samples: int) -> tuple[Measurement, ...]:
    """Sound hardware, and each fault at a few strengths, from harmless to fatal for some network."""
    return measured(
        Clean(),
        *(StateNoise(sigma=sigma) for sigma in (0.05, 0.1, 0.2)),
        *(StateRounding(bits=bits) for bits in (8, 6, 5, 4)),
        *(StateRounding(bits=bits, stochastic=True) for bits in (6, 4)),
        *(StuckUnits(probability=p) for p in (0.05, 0.1)),
        *(FlippedUnits(probability=p) for p in (0.001, 0.01)),
        WeightNoise(sigma=0.4),
        *(WeightRounding(bits=bits) for bits in (4, 3)),
        samples=samples,
    )


def state_faults() -> Experiment:
    """Plain, with hidden noise as in the paper and stronger, with input noise, with both, and an LSTM.

    >>> list(state_faults().recipes)[:3]
    ['lipschitz', 'nrnn mult 0.03 add 0.06', 'nrnn mult 0.03 add 0.2']
    """
    own, paper = ecg_recipes(), "nrnn mult 0.03 add 0.06"
    plain, noisy, (strong, stronger) = own["lipschitz"], own[paper], _stronger(0.2)
    recipes = {"lipschitz": plain, paper: noisy, strong: stronger, "lstm": own["lstm"]}
    for label in ("lipschitz", paper, strong):
        recipes[f"{label} input noise {INPUT_NOISE:g}"] = with_input_noise(recipes[label], INPUT_NOISE)
    return Experiment(
        name="state-faults",
        title="Heart beats on bad hardware",
        claim=_CLAIM,
        text=_TEXT,
        data=ECG5000(),
        recipes=recipes,
        measurements=faults(samples=500),
        seeds=10,
        protocol=OURS,
    )


def state_faults_on_pixels() -> Experiment:
    """The same faults on networks of tables 1 and 2: ``noisyrnn run state-faults-mnist --epochs 30 --seeds 1``."""
    own = mnist_recipes("ordered-mnist")
    names = ("lipschitz", "nrnn mult 0.02 add 0.02", "nrnn mult 0.02 add 0.05", "cornn", "exprnn", "antisymmetric")
    return Experiment(
        name="state-faults-mnist",
        title="Handwritten digits on bad hardware",
        claim=_CLAIM,
        text=_TEXT,
        data=MNIST(),
        recipes={name: own[name] for name in names},
        measurements=faults(samples=500),
        seeds=3,
    )


def _stronger(additive: float) -> tuple[str, Recipe]:
    recipe = Recipe.of(preset("ecg", "nrnn"))
    model = Noisy.model_validate({**recipe.model.model_dump(), "additive": additive})
    return noisy_label(model), recipe.model_copy(update={"model": model, "source": OURS})
