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

from noisyrnn.models.choice import refuse_other
from noisyrnn.models.model import ModelSetting
from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Call, Cell, FastPath, Sequenced, States
from noisyrnn.rnn.pooling import shown
from noisyrnn.rnn.stack import StackedLayer
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
        refuse_other("damping", damping, Damping)
        self.step_size = ConstantStep(dt)
        self.gamma, self.epsilon, self.damping = gamma, epsilon, damping
        # One map of (x, z, y) together, as released: its width sets the scale of all initial weights.
        self.joint = nn.Linear(inputs + 2 * units, units)

    def built(self, *, noisy: bool) -> _BuiltCoRNNCell:
        V, Wz, Wy = self.joint.weight.split([self.inputs, self.units, self.units], dim=1)
        return _BuiltCoRNNCell(self, Wy, Wz, V, self.joint.bias)

    def encode(self, x: Tensor) -> Tensor:
        return self.built(noisy=False).encode(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        return self.built(noisy=False).step(states, u, dt, xi, uniforms)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}, epsilon={self.epsilon}, damping={self.damping}"


class _BuiltCoRNNCell(Cell, FastPath):
    """The cell with its joint matrix taken apart; without V it takes drives instead of inputs."""

    arity = 2
    timed = True

    def __init__(self, cell: CoRNNCell, Wy: Tensor, Wz: Tensor, V: Tensor | None, b: Tensor | None) -> None:
        super().__init__(cell.inputs, cell.units)
        self.cell = cell
        self.Wy, self.Wz, self.V, self.b = Wy, Wz, V, b

    def encode(self, x: Tensor) -> Tensor:
        return x if self.V is None else nn.functional.linear(x, self.V, self.b)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        y, z = states
        size = self.cell.step_size.dt if dt is None else dt
        force = torch.tanh(u + z @ self.Wz.mT + y @ self.Wy.mT) - self.cell.gamma * y
        if self.cell.damping is Damping.EXPLICIT:
            z = z + size * (force - self.cell.epsilon * z)
        else:
            z = (z + size * force) / (1 + size * self.cell.epsilon)
        return y + size * z, z

    def fast_path(self, dt: Tensor | None) -> FastPath | None:
        return self if dt is None else None

    def by_kernel(self, x: Tensor, states: States, call: Call) -> Sequenced:
        y_0, z_0 = states
        scanned = native.cornn_scan(
            x, y_0, z_0, self.Wy, self.Wz, self.V, self.b, dt=self.cell.step_size.dt, gamma=self.cell.gamma,
            eps=self.cell.epsilon, implicit=self.cell.damping is Damping.IMPLICIT, lengths=call.lengths,
            chunk=call.chunk, states=call.outputs and not call.mean, total=call.mean,
        )  # fmt: skip
        return shown(scanned.y, scanned.total, x.shape[0], call.lengths), (scanned.last_y, scanned.last_z)


class CoRNNSetting(ModelSetting):
    """Coupled oscillators, y'' = tanh(W y + Wz y' + V x + b) - gamma y - epsilon y': setting of :class:`CoRNN`."""

    kind: Literal["cornn"] = "cornn"
    dt: float = 0.053
    gamma: float = 1.7
    epsilon: float = 4.0
    damping: Damping = Damping.EXPLICIT

    def layer(self, inputs: int) -> CoRNN:
        return CoRNN(inputs, self.hidden, **self.options())


_DEFAULT = CoRNNSetting()


class CoRNN(StackedLayer):
    """y'' = tanh(W y + Wz y' + V x + b) - gamma y - epsilon y'; h_n is (y, z). Defaults: ordered MNIST, n = 128.

    Parameters
    ----------
    input_size, hidden_size, num_layers, batch_first, dropout, bidirectional, device, dtype
        As in ``torch.nn.RNN``.
    dt
        Step size.
    gamma, epsilon
        Frequency and damping of the oscillators.
    damping
        Whether the damping acts on the old velocity (explicit, as released) or on the new one.

    Examples
    --------
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
        dt: float = _DEFAULT.dt,
        gamma: float = _DEFAULT.gamma,
        epsilon: float = _DEFAULT.epsilon,
        damping: Damping = _DEFAULT.damping,
        batch_first: bool = False,
        dropout: float = _DEFAULT.dropout,
        bidirectional: bool = _DEFAULT.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> CoRNNCell:
            return CoRNNCell(inputs, hidden_size, dt=dt, gamma=gamma, epsilon=epsilon, damping=damping)

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip
