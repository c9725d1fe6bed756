r"""Coupled oscillatory RNN (Rusch and Mishra 2021): y'' = tanh(W y + Wz y' + V x + b) - gamma y - epsilon y'.

z <- z + dt (tanh(W y + Wz z + V x + b) - gamma y - epsilon z)                  explicit damping, as released
z <- (z + dt (tanh(W y + Wz z + V x + b) - gamma y)) / (1 + dt epsilon)         implicit damping, the paper's other
y <- y + dt z                                                                   with the new z
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import torch
from torch import Tensor, nn

from noisyrnn.models.model import ModelSetting
from noisyrnn.rnn.cell import Cell, States
from noisyrnn.rnn.layer import Layer, stacked
from noisyrnn.sde.steps import ConstantStep


class Damping(StrEnum):
    """Whether the damping -epsilon z acts on the old or on the new velocity."""

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"


class CoRNNCell(Cell):
    """States (y, z): position and velocity of each oscillator."""

    arity = 2
    timed = True

    def __init__(self, inputs: int, units: int, *, dt: float, gamma: float, epsilon: float, damping: Damping) -> None:
        super().__init__(inputs, units)
        if min(gamma, epsilon) < 0:
            raise ValueError(f"Frequency and damping must be at least 0, got gamma={gamma}, epsilon={epsilon}.")
        self.length = ConstantStep(dt)
        self.gamma, self.epsilon, self.damping = gamma, epsilon, damping
        # One map of (x, z, y) together, as released: its width sets the scale of all initial weights.
        self.joint = nn.Linear(inputs + 2 * units, units)

    def built(self, *, noisy: bool) -> _BuiltCoRNNCell:
        return _BuiltCoRNNCell(self)

    def encode(self, x: Tensor) -> Tensor:
        return self.built(noisy=False).encode(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        return self.built(noisy=False).step(states, u, dt, xi, chance)


class _BuiltCoRNNCell(Cell):
    arity = 2
    timed = True

    def __init__(self, cell: CoRNNCell) -> None:
        super().__init__(cell.inputs, cell.units)
        self.cell = cell
        V, Wz, W = cell.joint.weight.split([cell.inputs, cell.units, cell.units], dim=1)
        self.V, self.Wz, self.W = V, Wz.mT, W.mT

    def encode(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.V, self.cell.joint.bias)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        y, z = states
        length = self.cell.length.dt if dt is None else dt
        force = torch.tanh(u + z @ self.Wz + y @ self.W) - self.cell.gamma * y
        if self.cell.damping is Damping.EXPLICIT:
            z = z + length * (force - self.cell.epsilon * z)
        else:
            z = (z + length * force) / (1 + length * self.cell.epsilon)
        return y + length * z, z


class CoRNN(Layer):
    """y'' = tanh(W y + Wz y' + V x + b) - gamma y - epsilon y'; h_n is (y, z). Defaults: ordered MNIST, n = 128.

    >>> output, (y, z) = CoRNN(1, 8)(torch.randn(5, 2, 1))
    >>> output.shape, z.shape
    (torch.Size([5, 2, 8]), torch.Size([1, 2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float = 0.053,
        gamma: float = 1.7,
        epsilon: float = 4.0,
        damping: Damping = Damping.EXPLICIT,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> CoRNNCell:
            return CoRNNCell(inputs, hidden_size, dt=dt, gamma=gamma, epsilon=epsilon, damping=damping)

        super().__init__(
            stacked(cell, input_size, hidden_size, num_layers, bidirectional),
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
        )
        self.to(device=device, dtype=dtype)


class Coupled(ModelSetting):
    """Setting of :class:`CoRNN`."""

    kind: Literal["cornn"] = "cornn"
    dt: float = 0.053
    gamma: float = 1.7
    epsilon: float = 4.0
    damping: Damping = Damping.EXPLICIT

    def layer(self, inputs: int) -> CoRNN:
        return CoRNN(inputs, self.hidden, **self.options())
