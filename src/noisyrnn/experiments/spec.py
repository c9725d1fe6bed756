"""Experiments as values: recipes, seeds, measurements; frozen, and JSON there and back.

A run is data, model, training and seed; its identity is the sha256 of its canonical JSON, so that tables which share a
run share its directory, its training and its weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from noisyrnn.data import DataSet
from noisyrnn.evaluate import Measure, name_of
from noisyrnn.models import Model, Preset
from noisyrnn.setting import Setting
from noisyrnn.train import Train

PAPER = "paper"
"""Protocol of an experiment as the paper describes it; anything else says how it differs."""


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
    samples: int | None = Field(default=None, ge=1)

    @property
    def name(self) -> str:
        return name_of(self.measure)

    @property
    def level(self) -> float:
        return self.measure.level

    def __str__(self) -> str:
        return self.name if self.name == "clean" else f"{self.name}:{self.level:g}"


class Recipe(Setting):
    """A model and how it is trained, and where these numbers come from: one line of a table."""

    model: Model
    train: Train
    source: str = ""

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


class Run(Setting):
    """One training: data, model, training and seed."""

    data: DataSet
    model: Model
    train: Train
    seed: int = Field(ge=0)

    @property
    def key(self) -> str:
        """First sixteen hexadecimal digits of the sha256 of the canonical JSON: the name of the run's directory."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:16]


class Experiment(Setting):
    """A table or a figure: every recipe trained with every seed, and every run measured in every way.

    >>> from noisyrnn.data import Digits
    >>> from noisyrnn.evaluate import Clean
    >>> from noisyrnn.models import Lipschitz
    >>> plain = Recipe(model=Lipschitz(hidden=8), train=Train(epochs=2))
    >>> demo = Experiment(name="demo", claim="", data=Digits(), recipes={"lipschitz": plain}, seeds=2,
    ...     measurements=(Measurement(measure=Clean()),))
    >>> [(label, run.seed) for label, run in demo.runs()]
    [('lipschitz', 0), ('lipschitz', 1)]
    >>> Experiment.model_validate_json(demo.model_dump_json()) == demo
    True
    """

    name: str
    claim: str
    data: DataSet
    recipes: dict[str, Recipe]
    measurements: tuple[Measurement, ...]
    seeds: int = Field(default=10, ge=1)
    protocol: str = PAPER

    def runs(self) -> Iterator[tuple[str, Run]]:
        """Labels and runs, seed by seed, so that the first seed of every model comes first."""
        for seed in range(self.seeds):
            for label, recipe in self.recipes.items():
                yield label, Run(data=self.data, model=recipe.model, train=recipe.train, seed=seed)


def canonical(value: BaseModel) -> str:
    """JSON with sorted keys and no spaces: equal values have equal text.

    >>> from noisyrnn.evaluate import Clean
    >>> canonical(Clean())
    '{"kind":"clean"}'
    """
    return json.dumps(value.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def data_name(data: DataSet, part: Part = Part.TEST) -> str:
    """The kind of a data set, and where it differs from its defaults.

    >>> from noisyrnn.data import ECG5000
    >>> data_name(ECG5000(split_seed=3), Part.VALIDATION)
    'ecg5000 split_seed=3 validation'
    """
    own = data.model_dump(mode="json", exclude_defaults=True)
    said = [f"{name}={value}" for name, value in sorted(own.items()) if name != "kind"]
    return " ".join([data.kind, *said, *([part.value] if part is not Part.TEST else [])])


def sentence(error: ValidationError) -> str:
    """The first complaint of pydantic in one line: where, what, and the value.

    >>> try:
    ...     Train(lr=-1)
    ... except ValidationError as error:
    ...     sentence(error)
    'lr: input should be greater than 0, got -1.'
    """
    first: Any = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    if not where:
        return f"{message}."
    return f"{where}: {message[0].lower()}{message[1:]}, got {first['input']!r}."
