"""Recipes of the tables: the paper's models, and in the same tables what it does not have.

Hidden size 128, 100 epochs, rate times 0.1 after epoch 90. Names of the paper's lines are those of
``noisyrnn.published``, which holds its numbers. Beyond the paper: the noisy RNN in the printed Ito convention (with the
printed strengths, and with strengths matched to the released ones), a Lipschitz RNN that sees noisy inputs in training,
and an LSTM.
"""

from __future__ import annotations

from noisyrnn.experiments.spec import Recipe
from noisyrnn.models import ClassicRNNSetting, Convention, Noisy, Recurrence, matched_strengths, preset
from noisyrnn.perturb import White
from noisyrnn.rows import OURS
from noisyrnn.train import ExpectedLoss, FeatureMixup, Train


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
    known_by = {"strengths": (model.multiplicative, model.additive)}
    return {
        noisy_label(model, "ito"): recipe.model_copy(update={"model": printed, "variant": "Itô", **known_by}),
        noisy_label(model, "ito matched"): recipe.model_copy(
            update={"model": matched, "variant": "Itô matched", **known_by}
        ),
    }


def with_input_noise(recipe: Recipe, sigma: float) -> Recipe:
    """The same recipe, trained on inputs with white noise."""
    return with_training(recipe, f"input noise {sigma:g}", input_noise=White(sigma=sigma))


def with_training(recipe: Recipe, variant: str, **update: object) -> Recipe:
    """The same model, trained in another way, which ``variant`` says in words."""
    said = ", ".join(filter(None, (recipe.variant, variant)))
    return recipe.model_copy(update={"train": recipe.train.model_copy(update=update), "source": OURS, "variant": said})


def with_mixup(recipe: Recipe, strength: float) -> Recipe:
    """The same recipe, trained on samples that are mixed and disturbed on their way; the authors' strength is 0.4."""
    mixup = FeatureMixup(additive=strength, multiplicative=strength / 2)
    return with_training(recipe, f"noisy feature mixup {strength:g}", mixup=mixup)


def with_expected_loss(recipe: Recipe, epsilon: float) -> Recipe:
    """The same recipe, with Theorem 1's regulariser in the place of its noise, which is ``epsilon`` times as strong."""
    said = f"expected loss instead of noise, ε = {epsilon:g}"
    return with_training(recipe, said, expected_loss=ExpectedLoss(epsilon=epsilon, difference=0.25))


def lstm() -> Recipe:
    """torch's LSTM under the paper's protocol."""
    return Recipe(
        model=ClassicRNNSetting(recurrence=Recurrence.LSTM),
        train=Train(lr=1e-3, decay={90: 0.1}),
        source="ours, not in the paper",
    )


def mnist_recipes(task: str, input_noise: float = 0.1) -> dict[str, Recipe]:
    """The lines of the tables on pixels, and ours."""
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


def with_settings(recipe: Recipe, settings: dict[str, float], source: str, variant: str = "") -> Recipe:
    """The same recipe with other settings, named as on the command line; rates of two groups keep their ratio.

    >>> with_settings(lstm(), {"train.lr": 0.01}, "ours").train.lr
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
    return Recipe(model=model, train=train, source=source, variant=variant)


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
    """The lines of table 3, and ours."""
    found = "baseline search on validation samples"
    baselines = {
        label: with_settings(recipe, FOUND_ON_ECG[label], found) if label in FOUND_ON_ECG else recipe
        for label, recipe in prescribed_on_ecg().items()
    }
    noisy = Recipe.of(preset("ecg", "nrnn"))
    return {
        **baselines,
        "nrnn mult 0.03 add 0.06": noisy,
        **in_ito_convention(noisy),
        "lipschitz input noise 0.8": with_input_noise(baselines["lipschitz"], 0.8),
    }
