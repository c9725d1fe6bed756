r"""Coupled oscillatory RNN (Rusch and Mishra 2021): y'' = tanh(W y + Wz y' + V x + b) - gamma y - epsilon y'.

z <- z + dt (tanh(W y + Wz z + V x + b) - gamma y - epsilon z)                  explicit damping, as released
z <- (z + dt (tanh(W y + Wz z + V x + b) - gamma y)) / (1 + dt epsilon)         implicit damping, the paper's other
y <- y + dt z                                                                   with the new z
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Unpack

import torch
from torch import Tensor, nn

from noisyrnn.models.model import ModelSetting
from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Cell, Sequenced, States
from noisyrnn.rnn.scan import scan_built
from noisyrnn.rnn.stack import Stack, StackedLayer
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
        V, Wz, Wy = self.joint.weight.split([self.inputs, self.units, self.units], dim=1)
        return _BuiltCoRNNCell(self, Wy, Wz, V, self.joint.bias)

    def encode(self, x: Tensor) -> Tensor:
        return self.built(noisy=False).encode(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        return self.built(noisy=False).step(states, u, dt, xi, chance)


class _BuiltCoRNNCell(Cell):
    """The cell with its joint matrix taken apart; without V it takes drives instead of inputs."""

    arity = 2
    timed = True

    def __init__(self, cell: CoRNNCell, Wy: Tensor, Wz: Tensor, V: Tensor | None, b: Tensor | None) -> None:
        super().__init__(cell.inputs, cell.units)
        self.cell = cell
        self.Wy, self.Wz, self.V, self.b = Wy, Wz, V, b

    def encode(self, x: Tensor) -> Tensor:
        return x if self.V is None else nn.functional.linear(x, self.V, self.b)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        y, z = states
        length = self.cell.length.dt if dt is None else dt
        force = torch.tanh(u + z @ self.Wz.mT + y @ self.Wy.mT) - self.cell.gamma * y
        if self.cell.damping is Damping.EXPLICIT:
            z = z + length * (force - self.cell.epsilon * z)
        else:
            z = (z + length * force) / (1 + length * self.cell.epsilon)
        return y + length * z, z

    def by_kernel(
        self,
        x: Tensor,
        states: States,
        *,
        dt: Tensor | None,
        lengths: Tensor | None,
        outputs: bool,
        chunk: int | None,
    ) -> Sequenced | None:
        if dt is not None:
            return None
        y_0, z_0 = states

        def reference(
            sequence: Tensor, y: Tensor, z: Tensor, Wy: Tensor, Wz: Tensor, V: Tensor | None, b: Tensor | None
        ) -> tuple[Tensor, Tensor]:
            whole = _Whole(self.cell, Wy, Wz, V, b)
            found, _ = scan_built(whole, sequence, (y, z), lengths=lengths)
            return found[..., : self.units], found[..., self.units :]

        scanned = native.cornn_scan(
            x, y_0, z_0, self.Wy, self.Wz, self.V, self.b, dt=self.cell.length.dt, gamma=self.cell.gamma,
            eps=self.cell.epsilon, implicit=self.cell.damping is Damping.IMPLICIT, lengths=lengths, chunk=chunk,
            states=outputs, reference=reference,
        )  # fmt: skip
        return scanned.y, (scanned.last_y, scanned.last_z)


class _Whole(_BuiltCoRNNCell):
    """Shows both states."""

    def observe(self, states: States) -> Tensor:
        return torch.cat(states, dim=-1)


class CoRNN(StackedLayer):
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
        **stack: Unpack[Stack],
    ) -> None:
        def cell(inputs: int) -> CoRNNCell:
            return CoRNNCell(inputs, hidden_size, dt=dt, gamma=gamma, epsilon=epsilon, damping=damping)

        super().__init__(cell, input_size, hidden_size, num_layers, **stack)


class Coupled(ModelSetting):
    """Coupled oscillators, y'' = tanh(W y + Wz y' + V x + b) - gamma y - epsilon y': setting of :class:`CoRNN`."""

    kind: Literal["cornn"] = "cornn"
    dt: float = 0.053
    gamma: float = 1.7
    epsilon: float = 4.0
    damping: Damping = Damping.EXPLICIT

    def layer(self, inputs: int) -> CoRNN:
        return CoRNN(inputs, self.hidden, **self.options())
