"""What is measured on the test samples in each table and figure."""

from __future__ import annotations

from noisyrnn.attack import APGD, FGSM, PGD, Loss, Square, Union
from noisyrnn.evaluate import Clean, Measure
from noisyrnn.experiments.spec import Measurement, Part
from noisyrnn.perturb import Multiplicative, Salt, SaltAndPepper, Uniform, White

PIXEL_RADII = (0.01, 0.05, 0.1, 0.15)
_WHITE, _IMPULSES = (0.1, 0.2, 0.3), (0.03, 0.05, 0.1)
_ECG_LEVELS = (0.4, 0.8, 1.2)


def measured(*measures: Measure, part: Part = Part.TEST, samples: int | None = None) -> tuple[Measurement, ...]:
    """Measurements on the samples of a part."""
    return tuple(Measurement(measure=measure, part=part, samples=samples) for measure in measures)


def _steps(step: float, last: float) -> tuple[float, ...]:
    return tuple(round(step * k, 10) for k in range(1, round(last / step) + 1))


def ecg_table(part: Part = Part.TEST) -> tuple[Measurement, ...]:
    """Clean beats, white and multiplicative noise, as in table 3."""
    return measured(
        Clean(),
        *(White(sigma=sigma) for sigma in _ECG_LEVELS),
        *(Multiplicative(sigma=sigma) for sigma in _ECG_LEVELS),
        part=part,
    )


PIXEL_TABLE = measured(
    Clean(),
    *(White(sigma=sigma) for sigma in _WHITE),
    *(SaltAndPepper(probability=p) for p in _IMPULSES),
)
PIXEL_READINGS = measured(
    Clean(), *(Uniform(sigma=sigma) for sigma in _WHITE), *(Salt(probability=p) for p in _IMPULSES)
)
# One number for every defective pixel, and not the largest of the scale, comes nearest to the paper on both scales.
RAW_READINGS = measured(
    Clean(),
    *(Uniform(sigma=sigma) for sigma in _WHITE),
    *(Salt(probability=p, low=0, high=1) for p in _IMPULSES),
)
# As strong for pixels up to 255 as the table's noise is for pixels up to 1.
SCALED = measured(Clean(), *(White(sigma=255 * sigma) for sigma in _WHITE))
PIXEL_CURVES = measured(
    Clean(),
    *(White(sigma=sigma) for sigma in _steps(0.02, 0.3)),
    *(SaltAndPepper(probability=p) for p in _steps(0.01, 0.12)),
)
FAST_GRADIENT = measured(
    *(FGSM(radius=radius) for radius in PIXEL_RADII),
    *(FGSM(radius=radius, bounds=(0, 1)) for radius in PIXEL_RADII),
)
PROJECTED = measured(*(PGD(radius=radius, steps=20) for radius in PIXEL_RADII), samples=1000)
STRONG_RADII = (0.05, 0.1)
# One row after the other, each of its own: what was cut off goes on with the next.
STRONGEST = (
    *measured(*(APGD(radius=radius, steps=50) for radius in STRONG_RADII), samples=1000),
    *measured(*(Square(radius=radius, queries=1000) for radius in STRONG_RADII), samples=200),
    *measured(
        *(
            Union(attacks=(APGD(radius=r, steps=50), APGD(radius=r, steps=50, loss=Loss.DLR, targets=3)))
            for r in STRONG_RADII
        ),
        samples=1000,
    ),
)
"""Two gradient attacks, a search without gradients, and the worst of the gradient attacks for each image."""
ECG_CURVES = measured(
    Clean(),
    *(White(sigma=sigma) for sigma in _steps(0.1, 1.5)),
    *(Multiplicative(sigma=sigma) for sigma in _steps(0.1, 1.5)),
)
