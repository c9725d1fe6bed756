"""Certified accuracy on five sets of the UCR archive (docs/certified.md); the temperature is chosen on validation."""

from __future__ import annotations

from noisyrnn.data import UCR
from noisyrnn.evaluate import Clean, Proof
from noisyrnn.experiments.catalogue.certified import CLAIM, RADII, certified_recipe
from noisyrnn.experiments.catalogue.measurements import measured
from noisyrnn.experiments.spec import Experiment, Part, Recipe
from noisyrnn.perturb import BaselineWander, DroppedSamples, White
from noisyrnn.rows import OURS

_SEARCHED = (10.0, 20.0, 60.0)
# Set, epochs and temperature: 80 epochs, or as many more as make about a thousand steps.
_SETS = {
    "cbf": ("CBF", 500, 20.0),
    "ecg200": ("ECG200", 200, 20.0),
    "faces": ("FaceAll", 80, 20.0),
    "freezer": ("FreezerRegularTrain", 125, 20.0),
    "phalanx": ("DistalPhalanxOutlineCorrect", 80, 20.0),
}


def certified_archive_sets() -> tuple[Experiment, ...]:
    """For each set a table, and beside it the search for its temperature on validation samples.

    >>> [table.name for table in certified_archive_sets()][:2]
    ['certified-cbf', 'certified-cbf-search']
    """
    return tuple(
        table
        for short, (name, epochs, chosen) in _SETS.items()
        for table in (_reported(short, name, epochs, chosen), _searched(short, name, epochs))
    )


def _reported(short: str, name: str, epochs: int, temperature: float) -> Experiment:
    return Experiment(
        name=f"certified-{short}", title=f"Certified by construction: {name}",
        text="The archive's test file; radii are root mean squares over the steps, in units of the data's spread.",
        claim=CLAIM, data=UCR(name=name), recipes={"certified": _recipe(epochs, temperature)}, seeds=1, protocol=OURS,
        measurements=measured(
            Clean(), *(Proof(radius=radius) for radius in RADII),
            White(sigma=0.4), White(sigma=0.8), DroppedSamples(probability=0.2), BaselineWander(sigma=0.5),
        ),
    )  # fmt: skip


def _searched(short: str, name: str, epochs: int) -> Experiment:
    return Experiment(
        name=f"certified-{short}-search", title=f"Temperatures for {name}",
        text="A fifth of the training file, kept aside for this choice.",
        claim=CLAIM, data=UCR(name=name),
        recipes={f"certified temperature {one:g}": _recipe(epochs, one) for one in _SEARCHED},
        seeds=1, protocol=OURS, aside=True,
        measurements=measured(Clean(), Proof(radius=0.02), Proof(radius=0.05), part=Part.VALIDATION),
    )  # fmt: skip


def _recipe(epochs: int, temperature: float) -> Recipe:
    return certified_recipe(temperature, epochs=epochs, batch=16, variant=f"temperature {temperature:g}")
