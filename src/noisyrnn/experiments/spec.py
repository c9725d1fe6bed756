"""Experiments as values: recipes, seeds, measurements; frozen, and JSON there and back.

A run is data, model, training and seed; its identity is the sha256 of its canonical JSON, so that tables which share a
run share its directory, its training and its weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from noisyrnn.about import About
from noisyrnn.attack import Union
from noisyrnn.data import DataSet
from noisyrnn.evaluate import Measure, name_of
from noisyrnn.models import Model, Noisy, Preset
from noisyrnn.rows import PAPER, Description
from noisyrnn.setting import Setting, canonical, own_settings
from noisyrnn.train import Train

MOST_SEEDS = 10_000
MOST_RUNS = 100_000
"""Of one experiment: years of work, and still counted in no time."""


class Part(StrEnum):
    """Which samples a measurement looks at."""

    TEST = "test"
    VALIDATION = "validation"


class Measurement(Setting):
    """A perturbation or attack on test or validation samples: all of them, or a fixed random choice of ``samples``.

    >>> from noisyrnn.perturb import White
    >>> str(Measurement(measure=White(sigma=0.1)))
    'white:0.1'
    """

    measure: Measure
    part: Part = Part.TEST
    samples: int | None = Field(default=None, ge=1, le=2**31)

    @property
    def name(self) -> str:
        return name_of(self.measure)

    @property
    def level(self) -> float:
        return self.measure.level

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell measurements apart which differ in more than name and level."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:12]

    @property
    def budget(self) -> dict[str, Any]:
        """What an attack may spend, and whatever else was chosen besides the level."""
        chosen = _besides_level(self.measure)
        if isinstance(self.measure, Union):
            chosen["attacks"] = [{"kind": one.kind, **_besides_level(one)} for one in self.measure.attacks]
        return chosen

    def __str__(self) -> str:
        return self.name if self.name == "clean" else f"{self.name}:{self.level:g}"


class Recipe(Setting):
    """A model and how it is trained, and where these numbers come from: one line of a table.

    ``variant`` says in words what sets it apart from the ordinary recipe of its model; ``strengths`` are those of its
    noise (multiplicative, additive) that it is known by, where they are not the ones in its setting.
    """

    model: Model
    train: Train
    source: str = ""
    variant: str = ""
    strengths: tuple[float, float] | None = None

    @classmethod
    def of(cls, preset: Preset) -> Recipe:
        """The recipe of a preset.

        >>> from noisyrnn.models import preset
        >>> Recipe.of(preset("ecg", "nrnn")).train.decay
        {90: 0.1}
        """
        names = Train.model_fields.keys() & Preset.model_fields.keys()
        train = Train(**{name: getattr(preset, name) for name in names})
        return cls(model=preset.model, train=train, source=preset.source)

    @property
    def description(self) -> Description:
        """What names in tables are made from."""
        model = self.model
        kind = getattr(model, "recurrence", model.kind)
        if not isinstance(model, Noisy):
            return Description(kind=str(kind), variant=self.variant)
        multiplicative, additive = self.strengths or (model.multiplicative, model.additive)
        return Description(
            kind=model.kind,
            multiplicative=multiplicative,
            additive=additive,
            convention=model.convention.value,
            variant=self.variant,
        )


class Run(Setting):
    """One training: data, model, training and seed."""

    data: DataSet
    model: Model
    train: Train
    seed: int = Field(ge=0, lt=2**63)

    @property
    def key(self) -> str:
        """First sixteen hexadecimal digits of the sha256 of the canonical JSON: the run's identity."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:16]


class Experiment(About):
    """A table or figure: every recipe trained with every seed, every run measured in every way; and what to say of it.

    >>> from noisyrnn.data import Digits
    >>> from noisyrnn.evaluate import Clean
    >>> from noisyrnn.models import Lipschitz
    >>> plain = Recipe(model=Lipschitz(hidden=8), train=Train(epochs=2))
    >>> demo = Experiment(name="demo", data=Digits(), recipes={"lipschitz": plain}, seeds=2,
    ...     measurements=(Measurement(measure=Clean()),))
    >>> [(label, run.seed) for label, run in demo.runs()]
    [('lipschitz', 0), ('lipschitz', 1)]
    >>> Experiment.model_validate_json(demo.model_dump_json()) == demo
    True
    """

    data: DataSet
    recipes: dict[str, Recipe]
    measurements: tuple[Measurement, ...]
    seeds: int = Field(default=10, ge=1, le=MOST_SEEDS)
    protocol: str = PAPER
    overrides: dict[str, Any] = Field(default={})
    """What a reduced form (``experiments.reduction``: fewer epochs or seeds) changes of the protocol, for rows."""

    @model_validator(mode="after")
    def _measures_something(self) -> Experiment:
        if not self.measurements or not self.recipes:
            raise ValueError(f"{self.name} measures nothing; give it at least one recipe and one measurement")
        if len(self.recipes) * self.seeds > MOST_RUNS:
            raise ValueError(f"{self.name} has more than {MOST_RUNS} runs; give it fewer recipes or seeds")
        return self

    def runs(self) -> Iterator[tuple[str, Run]]:
        """Labels and runs, seed by seed, so that the first seed of every model comes first.

        Every other seed goes backwards through the models: of two workers, one would get all runs of a slower model.
        """
        forward = list(self.recipes.items())
        for seed in range(self.seeds):
            for label, recipe in reversed(forward) if seed % 2 else forward:
                yield label, Run(data=self.data, model=recipe.model, train=recipe.train, seed=seed)

    def about(self) -> About:
        """What a report has to know of it, without what is needed to run it."""
        told = {name: getattr(self, name) for name in About.model_fields if name != "models"}
        return About(**told, models={label: recipe.description for label, recipe in self.recipes.items()})


def _besides_level(measure: Measure) -> dict[str, Any]:
    level = ("kind", "radius", "sigma", "probability", "bits")
    return {name: value for name, value in own_settings(measure).items() if name not in level}


_TASKS = {"ecg5000": "ecg", "mnist": "ordered-mnist"}


def task_of(data: DataSet) -> str:
    """What rows and directories call a data set.

    >>> from noisyrnn.data import ECG5000, UCR
    >>> task_of(ECG5000()), task_of(UCR(name="GunPoint"))
    ('ecg', 'ucr-gunpoint')
    """
    if data.kind == "ucr":
        return f"ucr-{data.name.lower()}"
    return _TASKS.get(data.kind, data.kind)
