"""Every table and figure of the noisy RNN's paper as a value, with the paper's protocol and numbers as printed.

Ten seeds; what each shows, and what the paper claims about it, stands here and nowhere else.
"""

from __future__ import annotations

from noisyrnn.data import ECG5000, MNIST, PermutedMNIST, Scale
from noisyrnn.experiments.catalogue import measurements as at
from noisyrnn.experiments.catalogue import statements as said
from noisyrnn.experiments.catalogue.chapters import ECG, ORDERED, OTHERWISE, PERMUTED, RAW, read_otherwise, table
from noisyrnn.experiments.catalogue.recipes import ecg_recipes, mnist_recipes
from noisyrnn.experiments.spec import Experiment

_ROBUST = "noise in the hidden states keeps accuracy under"
_PIXELS = f"{_ROBUST} white noise and salt and pepper"
_READINGS = f"{_ROBUST} uniform noise and salt"
_BEATS = f"{_ROBUST} white and multiplicative noise, ECG"
_BRIGHT = "permuted MNIST with pixels 0 to 255"
_PIXEL_TEXT = "Robustness to white noise (σ) and to salt and pepper (α)"
_READING_TEXT = (
    "Robustness to uniform noise in [0, σ] and to salt (α), beside the paper's numbers for white noise and for salt "
    "and pepper."
)


def ordered_mnist() -> tuple[Experiment, ...]:
    """Tables 1 and 2 and figure 1; other readings of their noise; a stronger attack."""
    same = {"data": MNIST(), "recipes": mnist_recipes("ordered-mnist")}
    return (
        Experiment(
            name="table-1", chapter=ORDERED, claim=f"{_PIXELS}, ordered MNIST", text=f"{_PIXEL_TEXT} on ordered MNIST.",
            printed=table("ordered-mnist"), statements=said.TABLE_1, measurements=at.PIXEL_TABLE, **same,
        ),
        Experiment(
            name="table-1-readings", chapter=read_otherwise(ORDERED), claim=f"{_READINGS}, ordered MNIST",
            text=_READING_TEXT, printed=table("ordered-mnist", read_as=OTHERWISE), measurements=at.PIXEL_READINGS,
            **same,
        ),
        Experiment(
            name="table-2", chapter=ORDERED, claim=f"{_ROBUST} the fast gradient sign method, ordered MNIST",
            text="Robustness to adversarial perturbations (fast gradient sign, radius r) on ordered MNIST.",
            note="The paper does not say whether attacked pixels are clipped; its numbers stand beside both.",
            printed=table("ordered-mnist-fgsm", also={"fgsm": "fgsm clipped"}), statements=said.TABLE_2,
            measurements=at.FAST_GRADIENT, **same,
        ),
        Experiment(
            name="table-2-pgd", title="Ordered MNIST under a stronger attack",
            claim=f"{_ROBUST} projected gradient ascent, ordered MNIST",
            text="Projected gradient ascent, which the paper did not try.", measurements=at.PROJECTED, **same,
        ),
        Experiment(
            name="table-2-apgd", title="Ordered MNIST under the strongest attacks",
            claim=f"{_ROBUST} adaptive gradient ascent and random search, ordered MNIST",
            text="Adaptive projected gradient ascent (APGD on the cross-entropy, 50 steps; then towards each of the "
            "three likeliest classes) and a search that needs no gradients (Square, 1000 queries on 200 images).",
            measurements=at.STRONGEST, **same,
        ),
        Experiment(
            name="figure-1", chapter=ORDERED, figure=True, claim=f"{_PIXELS}, ordered MNIST",
            statements=said.FIGURE_1, measurements=at.PIXEL_CURVES, **same,
        ),
    )  # fmt: skip


def ecg() -> tuple[Experiment, ...]:
    """Table 3 and figure 2."""
    same = {"data": ECG5000(), "recipes": ecg_recipes(), "chapter": ECG, "claim": _BEATS}
    return (
        Experiment(
            name="table-3", text="Robustness to white (σ) and multiplicative (σₘ) noise on electrocardiograms.",
            printed=table("ecg"), statements=said.TABLE_3, measurements=at.ecg_table(), **same,
        ),
        Experiment(name="figure-2", figure=True, statements=said.FIGURE_2, measurements=at.ECG_CURVES, **same),
    )  # fmt: skip


def permuted_mnist() -> tuple[Experiment, ...]:
    """Table 5 and figure 4, on pixels up to 1 and up to 255, and other readings of their noise."""
    recipes, raw = mnist_recipes("permuted-mnist"), PermutedMNIST(scale=Scale.RAW)
    same, bright = {"data": PermutedMNIST(), "recipes": recipes}, {"data": raw, "recipes": recipes}
    text = f"{_PIXEL_TEXT} on permuted MNIST."
    reread = table("permuted-mnist", read_as=OTHERWISE)
    return (
        Experiment(
            name="table-5", chapter=PERMUTED, claim=f"{_PIXELS}, permuted MNIST", text=text,
            note="The paper prints Lipschitz RNN in bold on clean inputs, although its number for coRNN is higher. "
            "At σ = 0.1 both of its numbers for the NRNN are below the one for Lipschitz RNN.",
            printed=table("permuted-mnist"), statements=said.TABLE_5, measurements=at.PIXEL_TABLE, **same,
        ),
        Experiment(
            name="table-5-readings", chapter=read_otherwise(PERMUTED), claim=f"{_READINGS}, permuted MNIST",
            text=_READING_TEXT, printed=reread, measurements=at.PIXEL_READINGS, **same,
        ),
        Experiment(
            name="table-5-raw", chapter=RAW, claim=f"{_PIXELS}, {_BRIGHT}", text=text, printed=table("permuted-mnist"),
            measurements=at.PIXEL_TABLE, **bright,
        ),
        Experiment(
            name="table-5-raw-readings", chapter=read_otherwise(RAW), claim=f"{_READINGS}, {_BRIGHT}",
            text=_READING_TEXT, printed=reread, measurements=at.RAW_READINGS, **bright,
        ),
        Experiment(
            name="table-5-raw-scaled", title="Permuted MNIST with pixels from 0 to 255, and noise in proportion",
            claim=f"{_ROBUST} noise in proportion, {_BRIGHT}",
            text="White noise of 0.1, 0.2 and 0.3 times 255: as strong as on pixels between 0 and 1. The paper has no "
            "numbers for it.",
            measurements=at.SCALED, **bright,
        ),
        Experiment(
            name="figure-4", chapter=PERMUTED, figure=True, claim=f"{_PIXELS}, permuted MNIST",
            measurements=at.PIXEL_CURVES, **same,
        ),
    )  # fmt: skip
