"""Certified accuracy by construction (docs/certified.md): ECG, digits, ordered MNIST; and the knob between the aims."""

from __future__ import annotations

from noisyrnn.attack import APGD
from noisyrnn.data import ECG5000, MNIST, DataSet, Digits
from noisyrnn.evaluate import Clean, Measure, Proof
from noisyrnn.experiments.catalogue.measurements import measured
from noisyrnn.experiments.spec import Experiment, Measurement, Part, Recipe
from noisyrnn.models import Certified
from noisyrnn.perturb import BaselineWander, DroppedSamples, Multiplicative, SaltAndPepper, White, WhiteUpTo
from noisyrnn.rows import OURS
from noisyrnn.setting import Norm
from noisyrnn.train import Margin, Train

CLAIM = "a recurrent network whose whole map is Lipschitz is accurate, and proved so against every small disturbance"
RADII = (0.01, 0.02, 0.05, 0.1)
KNOB = (5.0, 10.0, 20.0, 40.0, 80.0)
"""Temperatures of the curve of clean against certified accuracy."""


def certified_recipe(
    temperature: float,
    *,
    hidden: int = 64,
    outputs: int = 32,
    num_layers: int = 2,
    gain: float = 1.0,
    memory: float | None = None,
    noise: float | None = 1.0,
    margin: Margin | None = None,
    lr: float = 1e-2,
    epochs: int = 80,
    batch: int = 64,
    variant: str = "",
) -> Recipe:
    """How certified networks are trained by default: Adam in one cycle to 0.01, noise on the inputs up to ``noise``.

    >>> certified_recipe(20.0).train.lr
    0.01
    """
    train = Train(
        lr=lr, batch=batch, epochs=epochs, clip=1.0, one_cycle=True, margin=margin,
        input_noise=None if noise is None else WhiteUpTo(sigma=noise),
    )  # fmt: skip
    model = Certified(
        hidden=hidden, outputs=outputs, num_layers=num_layers, gain=gain, temperature=temperature, memory=memory
    )
    return Recipe(model=model, train=train, source=OURS, variant=variant)


def _table(name: str, title: str, text: str, data: DataSet, recipes: dict[str, Recipe], seeds: int,
           measurements: tuple[Measurement, ...], *, aside: bool = False) -> Experiment:  # fmt: skip
    return Experiment(
        name=name, title=title, text=text, claim=CLAIM, data=data, recipes=recipes, seeds=seeds,
        measurements=measurements, protocol=OURS, aside=aside,
    )  # fmt: skip


def _proofs(radii: tuple[float, ...], *, whole: bool = False) -> tuple[Measure, ...]:
    return tuple(Proof(radius=radius, whole=whole) for radius in radii)


def certified_tables() -> tuple[Experiment, ...]:
    """All tables of certified accuracy.

    >>> [table.name for table in certified_tables()][:2]
    ['certified-ecg', 'certified-knob']
    """
    disturbed: tuple[Measure, ...] = (
        *(White(sigma=sigma) for sigma in (0.4, 0.8, 1.2)),
        Multiplicative(sigma=0.8), DroppedSamples(probability=0.2), BaselineWander(sigma=0.5),
    )  # fmt: skip
    own = certified_recipe(20.0)
    attack = APGD(radius=1.0, norm=Norm.L2, steps=20, restarts=2)
    ecg = _table(
        "certified-ecg", "Certified by construction: ECG",
        "Certified radii are root mean squares over the 140 steps, in units of the data's spread.",
        ECG5000(), {"certified": own}, 5,
        measured(Clean(), *_proofs(RADII), *disturbed)
        + measured(*(attack.at(radius * 140**0.5) for radius in (0.05, 0.1, 0.2)), samples=200),
    )  # fmt: skip
    knob = _table(
        "certified-knob", "The knob between accuracy and radius",
        "The length of the readout's rows, chosen on validation samples: short rows make training care for margins.",
        ECG5000(), {
            **{f"certified temperature {one:g}": certified_recipe(one, variant=f"temperature {one:g}") for one in KNOB},
            "certified hinge 0.15": certified_recipe(
                20.0, margin=Margin(rms=0.15, weight=1.0), variant="hinge at RMS 0.15"
            ),
            "certified no input noise": certified_recipe(20.0, noise=None, variant="no input noise"),
        }, 1,
        measured(Clean(), *_proofs(RADII), White(sigma=0.8), part=Part.VALIDATION), aside=True,
    )  # fmt: skip
    digits = _table(
        "certified-digits", "Certified by construction: digits",
        "Digits of 8 x 8 pixels in [0, 1], pixel by pixel.",
        Digits(), {"certified": certified_recipe(60.0, hidden=96, outputs=48, gain=4.0, noise=None)}, 3,
        measured(Clean(), *_proofs(RADII), White(sigma=0.1), White(sigma=0.2), SaltAndPepper(probability=0.05)),
    )  # fmt: skip
    mnist = _table(
        "certified-mnist", "Certified by construction: ordered MNIST",
        "784 steps; radii are l2 lengths over the whole image.",
        MNIST(), {
            "certified": certified_recipe(
                60.0, outputs=64, num_layers=1, gain=4.0, memory=784.0, noise=None, lr=1e-3, epochs=30
            )
        }, 1,
        measured(
            Clean(), *_proofs((0.1, 0.25, 0.5), whole=True),
            White(sigma=0.1), White(sigma=0.2), SaltAndPepper(probability=0.05),
        ),
    )  # fmt: skip
    return ecg, knob, digits, mnist
