"""The demonstration: a noisy and a plain network on scikit-learn's handwritten digits, read pixel by pixel.

Its training was chosen on the validation samples; what it shows is measured on the test samples.
"""

from __future__ import annotations

from noisyrnn.about import Statement
from noisyrnn.attack import FGSM
from noisyrnn.data import Digits
from noisyrnn.evaluate import Clean, Measure
from noisyrnn.experiments.catalogue.measurements import measured
from noisyrnn.experiments.spec import Experiment, Recipe
from noisyrnn.models import Lipschitz, Noisy
from noisyrnn.perturb import SaltAndPepper, White
from noisyrnn.rows import OURS, Column
from noisyrnn.train import Train

_CLAIMED: dict[str, tuple[Column, ...]] = {
    "white noise": (("white", 0.2), ("white", 0.4)),
    "salt and pepper": (("salt-pepper", 0.1),),
    "attack": (("fgsm", 0.05), ("fgsm", 0.1)),
}
_TRAIN = Train(epochs=60, lr=1e-2, batch=32, decay={51: 0.1})


def demonstration() -> Experiment:
    """Both networks, perturbed and attacked.

    >>> list(demonstration().recipes)
    ['lipschitz', 'nrnn']
    """
    measures: tuple[Measure, ...] = (
        Clean(),
        *(White(sigma=sigma) for sigma in (0.1, 0.2, 0.3, 0.4)),
        *(SaltAndPepper(probability=p) for p in (0.03, 0.05, 0.1)),
        *(FGSM(radius=radius) for radius in (0.01, 0.03, 0.05, 0.1)),
    )
    return Experiment(
        name="demo",
        title="Handwritten digits",
        text="One network trained without and with noise in its hidden states, and used without it, on digits of 8 by "
        "8 pixels that are read one by one. The paper has no numbers for it.",
        claim="noise in the hidden states while training keeps accuracy under perturbed and attacked inputs",
        statements=tuple(
            Statement(
                quote=f"noise in training keeps accuracy under {words}", better=("nrnn",), worse=("lipschitz",), at=at
            )
            for words, at in _CLAIMED.items()
        ),
        data=Digits(),
        recipes={
            "lipschitz": Recipe(model=Lipschitz(hidden=64, dt=0.1, beta=0.75), train=_TRAIN),
            "nrnn": Recipe(model=Noisy(hidden=64, dt=0.1, beta=0.75, additive=0.1, multiplicative=0.02), train=_TRAIN),
        },
        measurements=measured(*measures),
        seeds=3,
        protocol=OURS,
    )
