"""Ratios that are taken round by round: their median over the rounds, and how far they spread."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple


class Spread(NamedTuple):
    """A ratio: its median over the rounds, its least and its largest value."""

    middle: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.least:.2f} to {self.most:.2f})"


def ratio(top: tuple[float, ...], bottom: tuple[float, ...], scale: float = 1.0) -> Spread | None:
    """top / bottom, round by round: what happened in one round hit both.

    >>> ratio((2.0, 4.0, 3.0), (1.0, 1.0, 1.0))
    Spread(middle=3.0, least=2.0, most=4.0)
    """
    if not top or not bottom:
        return None
    single = len(top) == 1 or len(bottom) == 1
    pairs = [(median(top), median(bottom))] if single else list(zip(top, bottom, strict=False))
    values = [scale * a / b for a, b in pairs]
    return Spread(median(values), min(values), max(values))
