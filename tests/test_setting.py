"""Settings are frozen values whose JSON is their identity; later fields do not change the names of earlier values."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from noisyrnn.setting import Added, InvalidSetting, Setting, canonical, own_settings, sentence


class Before(Setting):
    kind: str = "paint"
    hue: float = 0.5
    layers: dict[int, float] = Field(default={})


class After(Before):
    gloss: Annotated[bool, Added("0.2")] = False
    grain: Annotated[tuple[float, ...], Added("0.2")] = ()


class Paint(Setting):
    kind: Literal["paint"] = "paint"


class Brush(Setting):
    kind: Literal["brush"] = "brush"


class Shelf(Setting):
    holds: Annotated[Paint | Brush, Field(discriminator="kind")]


class Holder(Setting):
    inner: After = Field(default=After())


values = st.builds(
    After,
    hue=st.floats(allow_nan=False, allow_infinity=False),
    layers=st.dictionaries(st.integers(), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    gloss=st.booleans(),
    grain=st.lists(st.floats(0, 1), max_size=3).map(tuple),
)


@given(values)
def test_settings_go_to_json_and_back(value: After) -> None:
    assert After.model_validate_json(value.model_dump_json()) == value
    assert After.model_validate_json(canonical(value)) == value
    assert After.model_validate({"kind": value.kind} | own_settings(value)) == value


@given(values)
def test_a_field_that_was_added_leaves_names_alone_while_it_has_its_default(value: After) -> None:
    same = After(hue=value.hue, layers=value.layers)
    assert canonical(same) == canonical(Before(hue=value.hue, layers=value.layers))
    changed = value.gloss or value.grain
    assert (canonical(value) == canonical(same)) is not bool(changed)


def test_a_field_that_was_added_is_left_out_at_any_depth() -> None:
    assert canonical(Holder()) == '{"inner":{"hue":0.5,"kind":"paint","layers":{}}}'
    assert canonical(Holder(inner=After(gloss=True))) == '{"inner":{"gloss":true,"hue":0.5,"kind":"paint","layers":{}}}'


def test_equal_values_have_equal_text() -> None:
    assert canonical(Before(layers={2: 1.0, 10: 2.0})) == canonical(Before(layers={10: 2.0, 2: 1.0}))
    assert " " not in canonical(Before(layers={2: 1.0, 10: 2.0}))
    assert json.loads(canonical(Before(hue=0.1))) == {"kind": "paint", "hue": 0.1, "layers": {}}


def test_own_settings_are_the_kind_and_what_was_chosen() -> None:
    assert own_settings(After()) == {"kind": "paint"}
    assert own_settings(After(gloss=True, layers={90: 0.1})) == {"kind": "paint", "layers": {"90": 0.1}, "gloss": True}


@pytest.mark.parametrize("change", [{"hues": 0.1}, {"hue": float("inf")}, {"hue": float("nan")}, {"hue": "red"}])
def test_typos_and_numbers_without_end_are_refused(change: dict) -> None:
    with pytest.raises(ValidationError):
        Before.model_validate(change)
    with pytest.raises(InvalidSetting) as caught:
        Before(**change)
    assert len(str(caught.value).splitlines()) == 1
    assert isinstance(caught.value.__cause__, ValidationError)


class Finish(StrEnum):
    MATT = "matt"
    SATIN = "satin"


class Wall(Setting):
    paint: After
    finish: Finish = Finish.MATT
    coats: tuple[After, ...] = ()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: After(hew=1), "After has no setting 'hew' (did you mean hue?): valid are gloss, grain, hue, layers."),
        (lambda: After(weight=1), "After has no setting 'weight': valid are gloss, grain, hue, layers."),
        (lambda: After(hue="red"), "After.hue: input should be a valid number, unable to parse string as a number, "
                                   "got 'red'."),
        (lambda: Wall(), "Wall needs paint: give it a value."),
        (lambda: Wall(paind=After()), "Wall has no setting 'paind' (did you mean paint?): valid are coats, finish, "
                                      "paint."),
        (lambda: Wall(paint=After(), finish="satine"), "Wall.finish: input should be 'matt' or 'satin', got 'satine' "
                                                       "(did you mean satin?)."),
        (lambda: Wall(paint={"glos": True}), "Wall.paint has no setting 'glos' (did you mean gloss?): valid are gloss, "
                                             "grain, hue, layers."),
        (lambda: Wall(paint=After(), coats=({"hew": 1},)), "Wall.coats.0 has no setting 'hew' (did you mean hue?): "
                                                           "valid are gloss, grain, hue, layers."),
    ],
)  # fmt: skip
def test_a_slip_in_python_is_answered_with_what_is_valid(made: Callable[[], Setting], said: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        made()
    assert str(caught.value) == said


def test_a_slip_inside_one_of_several_kinds_is_answered_with_that_kinds_names() -> None:
    from noisyrnn.train import Train

    with pytest.raises(
        InvalidSetting, match=r"Train\.input_noise\.white has no setting 'sgima' \(did you mean sigma\?\)"
    ):
        Train(input_noise={"kind": "white", "sgima": 1})


def test_a_kind_with_a_line_end_in_it_is_still_one_line() -> None:
    from noisyrnn.train import Train

    with pytest.raises(InvalidSetting) as caught:
        Train(input_noise={"kind": "a\u2028b"})
    assert len(str(caught.value).splitlines()) == 1


def test_an_invalid_setting_travels_between_processes() -> None:
    with pytest.raises(InvalidSetting) as caught:
        After(hew=1)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Before().hue = 0.1


@given(name=st.text(max_size=300), value=st.text(max_size=300))
@example(name="a\nb", value="c\nd")
@example(name="\u2028", value="\x85")
def test_a_complaint_is_one_short_line(name: str, value: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Before.model_validate({f"un{name}known": value})
    said = sentence(caught.value)
    assert len(said.splitlines()) == 1
    assert said.endswith(".")
    assert len(said) < 400


def test_a_complaint_says_where_what_and_the_value() -> None:
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"inner": {"hue": "x" * 1000}})
    assert sentence(caught.value).startswith("inner.hue: input should be a valid number")
    assert "got 'xxx" in sentence(caught.value)
    assert len(sentence(caught.value)) < 250


@pytest.mark.parametrize("kind", ["x" * 5000, "x y" * 2000])
def test_a_kind_that_nobody_knows_is_quoted_in_short(kind: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Shelf.model_validate({"holds": {"kind": kind}})
    said = sentence(caught.value, Shelf)
    assert "xxx" in said or "x yx" in said
    assert len(said) < 600
