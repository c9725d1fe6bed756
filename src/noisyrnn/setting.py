"""Settings: values that somebody will report. Frozen, keyword-only, without room for typos, and JSON there and back."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Setting(BaseModel):
    """A frozen value with named parts.

    >>> class Colour(Setting):
    ...     hue: float = 0.5
    >>> Colour.model_validate_json(Colour(hue=0.1).model_dump_json()) == Colour(hue=0.1)
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Norm(StrEnum):
    """How far two sequences are apart, over time and features together: the largest coordinate, or the length."""

    LINF = "linf"
    L2 = "l2"
