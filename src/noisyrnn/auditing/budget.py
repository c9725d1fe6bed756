"""What an audit may spend: series, attacked and smoothed samples, steps, queries, draws."""

from __future__ import annotations

from pydantic import Field

from noisyrnn.setting import Setting

HEADLINE = 0.1
"""The radius of an attack that is quoted first, in units of the data's spread."""


class Budget(Setting):
    """A budget in numbers of samples and calls; ``budget("quick")`` and its sisters are the usual ones."""

    name: str
    series: int | None = Field(ge=1)
    """Test series that are asked about; drawn class by class where there are more. None: all."""
    attacked: int = Field(ge=0)
    radii: tuple[float, ...]
    steps: int = Field(ge=1)
    queries: int = Field(ge=1)
    smoothed: int = Field(ge=0)
    draws: int = Field(ge=1)
    sigma: float = 0.25
    alpha: float = 0.001

    def calls(self, series: int, cells: int, *, attackable: bool = True) -> int:
        """Series that go through one classifier at most, backward passes not counted."""
        attack = self.attacked * len(self.radii) * (self.queries + 4 * self.steps) if attackable else 0
        return series * (1 + cells) + min(attack, 10**12) + self.smoothed * (100 + self.draws)


_BUDGETS = {
    "quick": Budget(name="quick", series=200, attacked=24, radii=(0.1,), steps=15, queries=60, smoothed=10, draws=200),
    "standard": Budget(
        name="standard", series=2000, attacked=64, radii=(0.05, 0.1, 0.2, 0.4), steps=30, queries=150, smoothed=32,
        draws=500,
    ),
    "thorough": Budget(
        name="thorough", series=None, attacked=500, radii=(0.02, 0.05, 0.1, 0.2, 0.4, 0.8), steps=100, queries=1000,
        smoothed=200, draws=2000,
    ),
}  # fmt: skip


def budget(name: str | Budget) -> Budget:
    """The budget of a name.

    >>> budget("quick").attacked
    24
    """
    if isinstance(name, Budget):
        return name
    if name not in _BUDGETS:
        raise ValueError(f"The budgets are {', '.join(_BUDGETS)}, got {name!r}.")
    return _BUDGETS[name]
