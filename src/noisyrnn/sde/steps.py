"""Step sizes dt of one instant: constant, learned for each unit, or a function of the state.

Steps that differ between inputs or samples (irregular sampling) are data, not settings: they come with the input, when
a network is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from noisyrnn.types import Dt, State


class StepSize(nn.Module, ABC):
    """dt, which may depend on the state h and on the drift there: f is a function, called only where it is needed."""

    positive: bool
    """Whether dt > 0 is guaranteed, as schemes that take its square root need."""

    @abstractmethod
    def forward(self, h: State, f: Callable[[], State]) -> Dt: ...


class ConstantStep(StepSize):
    """dt = constant.

    >>> ConstantStep(0.1)
    ConstantStep(dt=0.1)
    """

    positive = True

    def __init__(self, dt: float) -> None:
        super().__init__()
        # A number, not a buffer: a network converted to double precision gets 0.1, not the single-precision 0.1.
        self.dt = positive_number("dt", dt)

    def forward(self, h: State, f: Callable[[], State]) -> Dt:
        return torch.full((), self.dt, dtype=h.dtype, device=h.device)

    def extra_repr(self) -> str:
        return f"dt={self.dt}"


class LearnedStep(StepSize):
    """dt in R^n, one learned step per unit: free (as the paper's authors released it) or positive, dt = exp(s).

    >>> LearnedStep(2, 0.1, positive=True)(torch.zeros(1, 2), lambda: torch.zeros(1, 2))
    tensor([0.1000, 0.1000], grad_fn=<ExpBackward0>)
    """

    def __init__(self, units: int, initial: float, *, positive: bool) -> None:
        super().__init__()
        initial = positive_number("the initial dt", initial)
        self.positive = positive
        start = torch.full((units,), initial)
        self.dt = nn.Parameter(start.log() if positive else start)

    def forward(self, h: State, f: Callable[[], State]) -> Dt:
        return self.dt.exp() if self.positive else self.dt

    def extra_repr(self) -> str:
        return f"units={self.dt.numel()}, positive={self.positive}"


class StateStep(StepSize):
    """dt = delta(h, f(h)): the paper's adaptive step, one for each sample.

    ``delta`` returns (batch, 1) or (batch, units), strictly positive. A choice that meets the paper's stability
    condition <h, f> + delta ||f||^2 / 2 <= alpha ||h||^2 + beta is :func:`bounded_increment`.

    >>> step = StateStep(lambda h, f: 0.1 / (1 + h.norm(dim=-1, keepdim=True)))
    >>> step(torch.zeros(1, 2), lambda: torch.zeros(1, 2))
    tensor([[0.1000]])
    """

    positive = True

    def __init__(self, delta: Callable[[State, State], Tensor]) -> None:
        super().__init__()
        self.delta = delta

    def forward(self, h: State, f: Callable[[], State]) -> Dt:
        return self.delta(h, f())


def bounded_increment(dt: float) -> Callable[[State, State], Tensor]:
    """delta(h, f) = dt max(1, ||h||^2) / max(1, ||f||^2): an increment never dwarfs the state it is added to.

    Fang and Giles (2020) use this form. With it <h, f> + delta ||f||^2 / 2 <= <h, f> + dt max(1, ||h||^2) / 2.

    >>> bounded_increment(0.1)(torch.zeros(1, 1), torch.full((1, 1), 10.0))
    tensor([[0.0010]])
    """
    return _BoundedIncrement(positive_number("dt", dt))


class _BoundedIncrement:
    def __init__(self, dt: float) -> None:
        self.dt = dt

    def __call__(self, h: State, f: State) -> Tensor:
        size = h.square().sum(-1, keepdim=True).clamp(min=1)
        speed = f.square().sum(-1, keepdim=True).clamp(min=1)
        return self.dt * size / speed


def positive_number(name: str, value: float) -> float:
    """``value`` if it is finite and above zero, else a refusal that names it."""
    if not (isinstance(value, int | float) and 0 < value < float("inf")):
        raise ValueError(f"A step size must be a positive finite number, got {name} = {value}.")
    return float(value)
