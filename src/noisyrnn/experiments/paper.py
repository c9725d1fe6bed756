"""Every table and figure of the noisy RNN's paper as a value, with the paper's protocol as it is printed.

Hidden size 128, 100 epochs, rate times 0.1 after epoch 90, ten seeds. Labels of the paper's rows are those of
``noisyrnn.paper``, which holds the paper's numbers. Beyond the paper, in the same tables: the noisy RNN in the printed
Ito convention (with the printed strengths, and with strengths matched to the released ones), a Lipschitz RNN that sees
noisy inputs in training, and an LSTM.
"""

from __future__ import annotations

from noisyrnn.attack import FGSM, PGD
from noisyrnn.data import ECG5000, MNIST, DataSet, PermutedMNIST, Scale
from noisyrnn.evaluate import Clean, Measure
from noisyrnn.experiments.spec import Experiment, Measurement, Recipe
from noisyrnn.models import Classic, Convention, Noisy, Recurrence, matched_strengths, preset
from noisyrnn.paper import printed
from noisyrnn.perturb import Multiplicative, Salt, SaltAndPepper, Uniform, White
from noisyrnn.train import Train

PUBLISHED = {
    "table-1": "ordered-mnist",
    "table-2": "ordered-mnist-fgsm",
    "table-3": "ecg",
    "table-5": "permuted-mnist",
    "table-5-raw": "permuted-mnist",
    "figure-1": "ordered-mnist",
    "figure-2": "ecg",
    "figure-4": "permuted-mnist",
}
"""Which table of ``noisyrnn.paper`` holds the paper's numbers for an experiment."""

PIXEL_RADII = (0.01, 0.05, 0.1, 0.15)


def published(experiment: str) -> dict[str, dict[str, float]]:
    """The paper's accuracy (percent) of each model in each column of a table; empty for what the paper has not.

    >>> published("table-3")["nrnn mult 0.03 add 0.06"]["white:1.2"]
    92.6
    """
    return printed(PUBLISHED[experiment]) if experiment in PUBLISHED else {}


def measured(*measures: Measure, samples: int | None = None) -> tuple[Measurement, ...]:
    """Measurements on the test samples."""
    return tuple(Measurement(measure=measure, samples=samples) for measure in measures)


def noisy_label(model: Noisy, kind: str = "") -> str:
    """The paper's label of a noisy RNN.

    >>> noisy_label(Noisy(additive=0.05, multiplicative=0.02), "ito")
    'nrnn ito mult 0.02 add 0.05'
    """
    return f"nrnn {kind + ' ' if kind else ''}mult {model.multiplicative:g} add {model.additive:g}"


def in_ito_convention(recipe: Recipe) -> dict[str, Recipe]:
    """A released noisy RNN in the printed equation: with the printed strengths, and with matched ones."""
    model = recipe.model
    if not isinstance(model, Noisy):
        raise ValueError(f"Only the noisy RNN has conventions of noise, got {model.kind}.")
    sigma_1, sigma_2 = matched_strengths(model.additive, model.multiplicative, model.dt)
    printed = model.model_copy(update={"convention": Convention.ITO})
    matched = printed.model_copy(update={"additive": sigma_1, "multiplicative": sigma_2})
    return {
        noisy_label(model, "ito"): recipe.model_copy(update={"model": printed}),
        noisy_label(model, "ito matched"): recipe.model_copy(update={"model": matched}),
    }


def with_input_noise(recipe: Recipe, sigma: float) -> Recipe:
    """The same recipe, trained on inputs with white noise."""
    return recipe.model_copy(
        update={"train": recipe.train.model_copy(update={"input_noise": White(sigma=sigma)}), "source": "ours"}
    )


def lstm() -> Recipe:
    """torch's LSTM under the paper's protocol."""
    return Recipe(
        model=Classic(recurrence=Recurrence.LSTM),
        train=Train(lr=1e-3, decay={90: 0.1}),
        source="ours, not in the paper",
    )


def _mnist_recipes(task: str, input_noise: float) -> dict[str, Recipe]:
    baselines = {name: Recipe.of(preset(task, name)) for name in ("antisymmetric", "cornn", "exprnn", "lipschitz")}
    small, large = Recipe.of(preset(task, "nrnn-small")), Recipe.of(preset(task, "nrnn-large"))
    return {
        **baselines,
        "nrnn mult 0.02 add 0.02": small,
        "nrnn mult 0.02 add 0.05": large,
        **in_ito_convention(large),
        f"lipschitz input noise {input_noise:g}": with_input_noise(baselines["lipschitz"], input_noise),
        "lstm": lstm(),
    }


def changed(recipe: Recipe, settings: dict[str, float], source: str) -> Recipe:
    """The same recipe with other settings, named as on the command line; rates of two groups keep their ratio.

    >>> changed(lstm(), {"train.lr": 0.01}, "ours").train.lr
    0.01
    """
    parts: dict[str, dict[str, float]] = {"train": {}, "model": {}}
    for key, value in settings.items():
        part, name = key.split(".")
        parts[part][name] = value
    before = recipe.train
    if before.lr_orthogonal is not None and "lr" in parts["train"]:
        parts["train"]["lr_orthogonal"] = parts["train"]["lr"] / (before.lr / before.lr_orthogonal)
    model, train = recipe.model.model_copy(update=parts["model"]), before.model_copy(update=parts["train"])
    return Recipe(model=model, train=train, source=source)


def prescribed_on_ecg() -> dict[str, Recipe]:
    """The baselines as their authors trained them elsewhere, and an LSTM: where the search for ECG begins."""
    labels = ("antisymmetric", "cornn", "exprnn", "lipschitz")
    return {**{label: Recipe.of(preset("ecg", label)) for label in labels}, "lstm": lstm()}


FOUND_ON_ECG: dict[str, dict[str, float]] = {
    "cornn": {"train.lr": 0.00127, "model.dt": 0.107, "model.gamma": 3.76, "model.epsilon": 3.33},
    "exprnn": {"train.lr": 0.00056},
    "lstm": {"train.lr": 0.000654},
}
"""What the baseline search found best on validation samples, where that is not the prescription.

The Lipschitz RNN takes part in the search for comparison only: the paper prescribes its settings for ECG, and with them
it differs from the noisy RNN by the noise alone.
"""


def ecg_recipes() -> dict[str, Recipe]:
    """The rows of table 3, and ours."""
    found = "baseline search on validation samples"
    baselines = {
        label: changed(recipe, FOUND_ON_ECG[label], found) if label in FOUND_ON_ECG else recipe
        for label, recipe in prescribed_on_ecg().items()
    }
    noisy = Recipe.of(preset("ecg", "nrnn"))
    return {
        **baselines,
        "nrnn mult 0.03 add 0.06": noisy,
        **in_ito_convention(noisy),
        "lipschitz input noise 0.8": with_input_noise(baselines["lipschitz"], 0.8),
    }


def _steps(step: float, last: float) -> tuple[float, ...]:
    return tuple(round(step * k, 10) for k in range(1, round(last / step) + 1))


_WHITE, _IMPULSES = (0.1, 0.2, 0.3), (0.03, 0.05, 0.1)
_PIXEL_TABLE = measured(
    Clean(),
    *(White(sigma=sigma) for sigma in _WHITE),
    *(SaltAndPepper(probability=p) for p in _IMPULSES),
)
_PIXEL_READINGS = measured(
    Clean(), *(Uniform(sigma=sigma) for sigma in _WHITE), *(Salt(probability=p) for p in _IMPULSES)
)
# One number for every defective pixel, and not the largest of the scale, comes nearest to the paper on both scales.
_RAW_READINGS = measured(
    Clean(),
    *(Uniform(sigma=sigma) for sigma in _WHITE),
    *(Salt(probability=p, low=0, high=1) for p in _IMPULSES),
)
# As strong for pixels up to 255 as the table's noise is for pixels up to 1.
_SCALED = measured(Clean(), *(White(sigma=255 * sigma) for sigma in _WHITE))
_PIXEL_CURVES = measured(
    Clean(),
    *(White(sigma=sigma) for sigma in _steps(0.02, 0.3)),
    *(SaltAndPepper(probability=p) for p in _steps(0.01, 0.12)),
)
_FGSM = measured(
    *(FGSM(radius=radius) for radius in PIXEL_RADII),
    *(FGSM(radius=radius, bounds=(0, 1)) for radius in PIXEL_RADII),
)
_PGD = measured(*(PGD(radius=radius, steps=20) for radius in PIXEL_RADII), samples=1000)
_ECG_LEVELS = (0.4, 0.8, 1.2)
_ECG_TABLE = measured(
    Clean(), *(White(sigma=sigma) for sigma in _ECG_LEVELS), *(Multiplicative(sigma=sigma) for sigma in _ECG_LEVELS)
)
_ECG_CURVES = measured(
    Clean(),
    *(White(sigma=sigma) for sigma in _steps(0.1, 1.5)),
    *(Multiplicative(sigma=sigma) for sigma in _steps(0.1, 1.5)),
)

_ROBUST = "noise in the hidden states keeps accuracy under"


def _experiment(
    name: str, claim: str, data: DataSet, recipes: dict[str, Recipe], measurements: tuple[Measurement, ...]
) -> Experiment:
    return Experiment(name=name, claim=claim, data=data, recipes=recipes, measurements=measurements)


def paper_experiments() -> dict[str, Experiment]:
    """Tables 1, 2, 3 and 5 and figures 1, 2 and 4, by name.

    >>> sorted(paper_experiments())[:4]
    ['figure-1', 'figure-2', 'figure-4', 'table-1']
    """
    ordered, permuted = _mnist_recipes("ordered-mnist", 0.1), _mnist_recipes("permuted-mnist", 0.1)
    ecg, raw, bright = ecg_recipes(), PermutedMNIST(scale=Scale.RAW), "permuted MNIST with pixels 0 to 255"
    pixels, readings = f"{_ROBUST} white noise and salt and pepper", f"{_ROBUST} uniform noise and salt"
    every = [
        _experiment("table-1", f"{pixels}, ordered MNIST", MNIST(), ordered, _PIXEL_TABLE),
        _experiment("table-1-readings", f"{readings}, ordered MNIST", MNIST(), ordered, _PIXEL_READINGS),
        _experiment("table-2", f"{_ROBUST} the fast gradient sign method, ordered MNIST", MNIST(), ordered, _FGSM),
        _experiment("table-2-pgd", f"{_ROBUST} projected gradient ascent, ordered MNIST", MNIST(), ordered, _PGD),
        _experiment("table-3", f"{_ROBUST} white and multiplicative noise, ECG", ECG5000(), ecg, _ECG_TABLE),
        _experiment("table-5", f"{pixels}, permuted MNIST", PermutedMNIST(), permuted, _PIXEL_TABLE),
        _experiment("table-5-readings", f"{readings}, permuted MNIST", PermutedMNIST(), permuted, _PIXEL_READINGS),
        _experiment("table-5-raw", f"{pixels}, {bright}", raw, permuted, _PIXEL_TABLE),
        _experiment("table-5-raw-readings", f"{readings}, {bright}", raw, permuted, _RAW_READINGS),
        _experiment("table-5-raw-scaled", f"{_ROBUST} noise in proportion, {bright}", raw, permuted, _SCALED),
        _experiment("figure-1", f"{pixels}, ordered MNIST", MNIST(), ordered, _PIXEL_CURVES),
        _experiment("figure-2", f"{_ROBUST} white and multiplicative noise, ECG", ECG5000(), ecg, _ECG_CURVES),
        _experiment("figure-4", f"{pixels}, permuted MNIST", PermutedMNIST(), permuted, _PIXEL_CURVES),
    ]
    return {experiment.name: experiment for experiment in every}
