"""Reduced protocols: fewer epochs, seeds or models, other settings; rows always say so, as overrides of a protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel, ValidationError

from noisyrnn.experiments.spec import MOST_SEEDS, Experiment, Recipe
from noisyrnn.rows import plain
from noisyrnn.setting import nearest, sentence
from noisyrnn.train.setting import LONGEST


def reduced(
    experiment: Experiment,
    *,
    epochs: int | None = None,
    seeds: int | None = None,
    models: Iterable[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Experiment:
    """The experiment with fewer epochs (decays move along), seeds, models, or with other settings.

    ``models`` are labels or patterns of labels ("nrnn*"). Keys of ``overrides`` are train.NAME, model.NAME and
    data.NAME; a model's setting is changed in those models that have it.

    >>> from noisyrnn.experiments import EXPERIMENTS
    >>> small = reduced(EXPERIMENTS["table-3"], epochs=5, seeds=1, models=["nrnn*"], overrides={"train.lr": 0.01})
    >>> small.overrides
    {'epochs': 5, 'seeds': 1, 'train.lr': 0.01}
    """
    changes: dict[str, Any] = dict(experiment.overrides)
    recipes = dict(experiment.recipes) if models is None else _chosen(experiment, tuple(models))
    if epochs is not None:
        if not 1 <= epochs <= LONGEST:
            raise ValueError(f"epochs must be 1 to {LONGEST}, got {epochs}.")
        if any(recipe.train.epochs != epochs for recipe in recipes.values()):
            changes["epochs"] = epochs
        recipes = {
            label: recipe.model_copy(update={"train": recipe.train.shortened(epochs)})
            for label, recipe in recipes.items()
        }
    if seeds is not None:
        if not 1 <= seeds <= MOST_SEEDS:
            raise ValueError(f"seeds counts runs of each model and must be 1 to {MOST_SEEDS}, got {seeds}.")
        if seeds != experiment.seeds:
            changes["seeds"] = seeds
    data = experiment.data
    for key, value in (overrides or {}).items():
        room, _, name = key.partition(".")
        _refuse_unknown(key, room, name, experiment, recipes)
        if room == "data":
            data = _with(data, name, value, key)
        else:
            recipes = {label: _changed(recipe, room, name, value, key) for label, recipe in recipes.items()}
        changes[key] = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    update = {"recipes": recipes, "data": data, "overrides": changes, "seeds": seeds or experiment.seeds}
    return experiment.model_copy(update=update)


def override(text: str) -> tuple[str, Any]:
    """A key and a value from "key=value"; the value is read as JSON where it is JSON, else as a word.

    >>> override("train.lr=0.01"), override("train.optimiser=rmsprop")
    (('train.lr', 0.01), ('train.optimiser', 'rmsprop'))
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"An override has the form key=value, for example train.lr=0.01; got {text[:80]!r}.")
    try:
        return key.strip(), json.loads(value)
    except (ValueError, RecursionError):  # a word, or no number that anybody means
        return key.strip(), value


def _chosen(experiment: Experiment, wanted: tuple[str, ...]) -> dict[str, Recipe]:
    for pattern in wanted:
        if not any(fnmatchcase(label, pattern) for label in experiment.recipes):
            raise ValueError(
                f"{experiment.name} has no model {pattern!r}; choose from {', '.join(map(repr, experiment.recipes))}."
            )
    return {
        label: recipe
        for label, recipe in experiment.recipes.items()
        if any(fnmatchcase(label, pattern) for pattern in wanted)
    }


def _refuse_unknown(key: str, room: str, name: str, experiment: Experiment, recipes: dict[str, Recipe]) -> None:
    fields: dict[str, set[str]] = {
        "train": set(type(next(iter(recipes.values())).train).model_fields),
        "model": {field for recipe in recipes.values() for field in type(recipe.model).model_fields},
        "data": set(type(experiment.data).model_fields),
    }
    valid = {other: sorted(names - {"kind"}) for other, names in fields.items()}
    if room not in valid:
        raise ValueError(f"There is no setting {key[:80]!r}; keys begin with train., model. or data., as in train.lr.")
    if name not in valid[room]:
        hint = nearest(name, valid[room])
        raise ValueError(f"There is no setting {key[:80]!r}{hint}; valid keys of {room} are {', '.join(valid[room])}.")


def _changed(recipe: Recipe, room: str, name: str, value: Any, key: str) -> Recipe:
    owner = recipe.train if room == "train" else recipe.model
    if name not in type(owner).model_fields:
        return recipe
    return recipe.model_copy(update={room: _with(owner, name, value, key)})


def _typed(value: Any) -> str:
    """A value as one would type it, cut where nobody would read on."""
    text = " ".join(plain(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _with(owner: Any, name: str, value: Any, key: str) -> Any:
    told = value.model_dump() if isinstance(value, BaseModel) else value
    try:
        return type(owner).model_validate({**owner.model_dump(), name: told})
    except ValidationError as error:
        raise ValueError(f"{key}={_typed(told)} is refused: {sentence(error, type(owner))}") from error
