"""The tasks of the paper as chapters of a report, and its printed tables as they stand there."""

from __future__ import annotations

from collections.abc import Mapping

from noisyrnn.about import Chapter, Printed
from noisyrnn.published import printed
from noisyrnn.rows import Column

ORDERED = Chapter(
    name="ordered-mnist",
    title="Ordered MNIST",
    text="Handwritten digits, shown to the network one pixel at a time: 784 steps, ten classes.",
)
ECG = Chapter(
    name="ecg",
    title="Electrocardiograms",
    text="Heart beats of 140 steps, normal or abnormal: 500 for training, 500 for validation, 4000 for testing.",
)
PERMUTED = Chapter(
    name="permuted-mnist",
    title="Permuted MNIST",
    text="The digits again, with their pixels shown in one fixed random order.",
)
RAW = Chapter(
    name="permuted-mnist-raw",
    title="Permuted MNIST with pixels from 0 to 255",
    text="Another reading of the paper: pixels are not scaled, so that the same noise is a smaller disturbance.",
    variant=True,
)

OTHERWISE = {"white": "uniform", "salt-pepper": "salt"}
"""Measures of the paper, and how else its words may be read."""


def read_otherwise(chapter: Chapter) -> Chapter:
    """The chapter of the same task with other readings of what the paper says of disturbed pixels."""
    return Chapter(
        name=f"{chapter.name}-readings",
        title=f"{chapter.title}, other readings of the noise",
        text="Uniform noise between 0 and σ for the paper's white noise, and for its salt and pepper defective pixels "
        "that all become 1: readings chosen after the fact, because they come nearer to many of the paper's numbers.",
        variant=True,
    )


def table(name: str, *, read_as: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None) -> Printed:
    """A printed table: its measures read as others, or its numbers set beside ``also`` another measure each.

    >>> table("ecg").columns[1], table("ecg").number("lipschitz", ("white", 1.2))
    (('white', 0.4), 88.9)
    >>> table("ordered-mnist-fgsm", also={"fgsm": "fgsm clipped"}).columns[-1]
    ('fgsm clipped', 0.15)
    """
    lines = printed(name)
    columns = [_column(label) for label in next(iter(lines.values()))]
    shown = [((read_as or {}).get(measure, measure), level) for measure, level in columns]
    more = [((also or {})[measure], level) for measure, level in columns if measure in (also or {})]
    doubled = [place for place, (measure, _) in enumerate(columns) if measure in (also or {})]
    numbers = {model: tuple(line.values()) for model, line in lines.items()}
    return Printed(
        columns=(*shown, *more),
        lines={model: (*line, *(line[place] for place in doubled)) for model, line in numbers.items()},
    )


def _column(label: str) -> Column:
    measure, _, level = label.partition(":")
    return measure, float(level or 0)
