"""Settings: values that somebody will report. Frozen, keyword-only, without room for typos, and JSON there and back.

A setting's canonical JSON is its identity: a run, which is one training of one model on one data set with one seed, is
named after its sha256. A field that a later version adds is marked ``Added`` and left out of the JSON while it has its
default, so that what was named before keeps its name.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, get_args, no_type_check

from pydantic import BaseModel, ConfigDict, ValidationError, model_serializer


@dataclass(frozen=True)
class Added:
    """Marks a field that settings of earlier versions did not have: ``drop_last: Annotated[bool, Added("0.2")]``."""

    version: str


class InvalidSetting(ValueError):
    """A setting that somebody wrote in Python cannot be; the message is one sentence with what would do."""


class Setting(BaseModel):
    """A frozen value with named parts; what is wrong with one is said in a sentence.

    >>> from typing import Annotated
    >>> class Colour(Setting):
    ...     hue: float = 0.5
    ...     gloss: Annotated[bool, Added("0.2")] = False
    >>> Colour.model_validate_json(Colour(hue=0.1).model_dump_json()) == Colour(hue=0.1)
    True
    >>> canonical(Colour()), canonical(Colour(gloss=True))
    ('{"hue":0.5}', '{"gloss":true,"hue":0.5}')
    >>> Colour(hew=0.1)
    Traceback (most recent call last):
    noisyrnn.setting.InvalidSetting: Colour has no setting 'hew' (did you mean hue?): valid are gloss, hue.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    if not TYPE_CHECKING:  # checkers see the fields' own names
        # As pydantic's own does, and as directly: one call more, and names of types are looked for in the wrong place.
        @no_type_check
        def __init__(self, /, **values: Any) -> None:
            try:
                self.__pydantic_validator__.validate_python(values, self_instance=self)
            except ValidationError as error:
                raise InvalidSetting(sentence(error, type(self), name=type(self).__name__)) from error

        # Settings inside others, and those from JSON, are validated without a detour through Python.
        __init__.__pydantic_base_init__ = True

    @model_serializer(mode="wrap")
    def _without_additions_at_their_defaults(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        written = handler(self)
        for name, field in type(self).model_fields.items():
            added = any(isinstance(mark, Added) for mark in field.metadata)
            if added and getattr(self, name) == field.get_default(call_default_factory=True):
                written.pop(name, None)
        return written


class Norm(StrEnum):
    """How far two sequences are apart, over time and features together: the largest coordinate, or the length."""

    LINF = "linf"
    L2 = "l2"


def canonical(value: BaseModel) -> str:
    """JSON with sorted keys and no spaces: equal values have equal text.

    >>> class Colour(Setting):
    ...     hue: float = 0.5
    >>> canonical(Colour())
    '{"hue":0.5}'
    """
    return json.dumps(value.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def own_settings(value: BaseModel) -> dict[str, Any]:
    """What somebody chose: the kind, and every setting that is not at its default, as JSON values.

    >>> class Colour(Setting):
    ...     kind: str = "colour"
    ...     hue: float = 0.5
    >>> own_settings(Colour()), own_settings(Colour(hue=0.1))
    ({'kind': 'colour'}, {'kind': 'colour', 'hue': 0.1})
    """
    written = value.model_dump(mode="json")
    defaults = {name: field.get_default(call_default_factory=True) for name, field in type(value).model_fields.items()}
    return {
        name: written[name]
        for name, default in defaults.items()
        if name == "kind" or (name in written and getattr(value, name) != default)
    }


def sentence(error: ValidationError, model: type[BaseModel] | None = None, *, name: str = "") -> str:
    """The first complaint of pydantic in one line: where, what, and the value; of a known ``model`` also what would do.

    >>> class Colour(Setting):
    ...     hue: float = 0.5
    >>> try:
    ...     Colour.model_validate({"hue": "red"})
    ... except ValidationError as error:
    ...     sentence(error)
    "hue: input should be a valid number, unable to parse string as a number, got 'red'."
    """
    # A name that was meant for another is missing under that one, too: the slip says more.
    first: Any = min(error.errors(include_url=False), key=lambda one: one["type"] == "missing")
    *owner, last = map(_plain, first["loc"] or ("",))
    message = _plain(first["msg"]).removeprefix("Value error, ").rstrip(".")
    kind = _plain(first.get("ctx", {}).get("tag", ""))  # a kind that nobody knows is quoted whole
    message = message.replace(kind, _short(kind)) if kind else message
    if not first["loc"]:
        return f"{message}."
    place = _short(".".join([name, *owner] if name else owner))
    known = sorted({field for one in _models_at(model, first["loc"][:-1]) for field in one.model_fields} - {"kind"})
    if first["type"] == "extra_forbidden" and known:
        whose = f"{place} has" if place else "There is"
        return f"{whose} no setting {_short(last)!r}{nearest(last, known)}: valid are {', '.join(known)}."
    if first["type"] == "missing" and known:
        return f"{place or 'This'} needs {last}: give it a value."
    where = _short(f"{place}.{last}" if place else last)
    near = nearest(str(first["input"]), _expected(first)) if isinstance(first["input"], str) else ""
    return f"{where}: {message[0].lower()}{message[1:]}, got {_short(repr(first['input']))}{near}."


def in_a_sentence(error: Exception) -> str:
    """What a user reads of an exception: one line, with a remedy where there is a likely one.

    >>> in_a_sentence(MemoryError())
    'There is not enough memory: try fewer workers, fewer samples, a smaller batch or a smaller network.'
    """
    lack = isinstance(error, MemoryError) or any(word in str(error) for word in ("allocate memory", "bad_alloc"))
    if lack and not isinstance(error, ValueError):
        return "There is not enough memory: try fewer workers, fewer samples, a smaller batch or a smaller network."
    if isinstance(error, OSError) and error.strerror:
        return _plain(f"{error.filename or 'A file'}: {error.strerror}; check the path.")
    return _plain(error if isinstance(error, ValueError) else f"unexpected {type(error).__name__}: {error}")


def _plain(part: object) -> str:
    """A name in a file, which may hold line ends."""
    return " ".join(str(part).split())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is nearest.

    >>> nearest("hiden", ["additive", "hidden"]), nearest("colour", ["hidden"])
    (' (did you mean hidden?)', '')
    """
    found = difflib.get_close_matches(word[:80], [*known], n=1)
    return f" (did you mean {found[0]}?)" if found else ""


def _expected(complaint: dict[str, Any]) -> list[str]:
    """The words that a closed choice has."""
    told = complaint.get("ctx", {})
    words = str(told.get("expected") or told.get("expected_tags") or "")
    return words.replace("'", "").replace(" or ", ", ").split(", ")


def _models_at(model: Any, path: Iterable[object]) -> list[type[BaseModel]]:
    """The settings that may stand at a place inside another, by the names on the way there."""
    here = _models_in(model)
    for part in path:
        fields = [one.model_fields[part] for one in here if isinstance(part, str) and part in one.model_fields]
        kinds = [one for one in here if "kind" in one.model_fields and one.model_fields["kind"].default == part]
        if fields:
            here = [found for field in fields for found in _models_in(field.annotation)]
        elif kinds:  # which of several it is
            here = kinds
    return here


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
