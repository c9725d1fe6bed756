"""Closed choices: a member of an enumeration, or a refusal that lists the members."""

from __future__ import annotations

from enum import Enum


def refuse_other(name: str, value: object, kind: type[Enum], *own: type) -> None:
    """Nothing, if the value is a member of ``kind`` or an instance of an ``own`` class; else the names to choose from.

    A bare string is refused too: it compares equal to a member and would be taken for another one further on.

    >>> from noisyrnn.sde import Convention
    >>> refuse_other("convention", "released", Convention)
    Traceback (most recent call last):
    ValueError: convention must be one of Convention.ITO, Convention.RELEASED, got 'released'.
    """
    if not isinstance(value, (kind, *own)):
        members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        others = "".join(f", or an own {one.__name__}" for one in own)
        raise ValueError(f"{name} must be one of {members}{others}, got {value!r}.")
