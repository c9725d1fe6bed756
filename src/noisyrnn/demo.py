"""The demonstration: a noisy and a plain network on scikit-learn's handwritten digits, read pixel by pixel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean

from noisyrnn.attack import FGSM
from noisyrnn.data import Digits
from noisyrnn.evaluate import Clean
from noisyrnn.experiments import Experiment, Measurement, Recipe, Row
from noisyrnn.models import Lipschitz, Noisy
from noisyrnn.perturb import SaltAndPepper, White
from noisyrnn.train import Train

_TRAIN = Train(epochs=60, lr=1e-2, batch=32, decay={51: 0.1})


def story(*, seeds: int = 2) -> Experiment:
    """Both networks, perturbed and attacked.

    >>> list(story().recipes)
    ['lipschitz', 'nrnn']
    """
    measures = (
        Clean(),
        *(White(sigma=sigma) for sigma in (0.1, 0.2, 0.3, 0.4)),
        *(SaltAndPepper(probability=p) for p in (0.03, 0.05, 0.1)),
        *(FGSM(radius=radius) for radius in (0.01, 0.03, 0.05, 0.1)),
    )
    return Experiment(
        name="demo",
        claim="noise in the hidden states while training keeps accuracy under perturbed and attacked inputs",
        data=Digits(),
        recipes={
            "lipschitz": Recipe(model=Lipschitz(hidden=64, dt=0.1, beta=0.75), train=_TRAIN),
            "nrnn": Recipe(model=Noisy(hidden=64, dt=0.1, beta=0.75, additive=0.1, multiplicative=0.02), train=_TRAIN),
        },
        measurements=tuple(Measurement(measure=measure) for measure in measures),
        seeds=seeds,
        protocol="ours",
    )


def summary(rows: Iterable[Row]) -> str:
    """A small table: mean accuracy of each network under each perturbation."""
    cells: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["experiment"] == "demo":
            cells[row["measure"], row["level"]][row["model"]].append(row["value"])
    lines = [f"{'accuracy, %':<22}{'plain':>8}{'noisy':>8}"]
    for (measure, level), models in cells.items():
        name = measure if measure == "clean" else f"{measure} {level:g}"
        plain, noisy = (f"{mean(models[label]):.1f}" if models.get(label) else "" for label in ("lipschitz", "nrnn"))
        lines.append(f"{name:<22}{plain:>8}{noisy:>8}")
    return "\n".join(lines)
