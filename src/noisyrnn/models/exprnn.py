r"""Exponential RNN (Lezcano-Casado and Martinez-Rubio 2019): h <- modrelu(Q h + U x), Q orthogonal.

    modrelu(v) = sign(v) relu(|v| + b),  b learned, the only bias

Q is exp(S), the Cayley map of S, or the dynamic trivialisation Q_0 exp(S) (Lezcano-Casado 2019), with S skew. The
released script's default is the dynamic one, with a rebase every 100 sequences. The released code multiplies rows, h Q,
which is Q transposed here.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from noisyrnn.models.matrices import Orthogonal, Parametrisation, RotationStart
from noisyrnn.models.model import ModelSetting
from noisyrnn.rnn.cell import Cell, States
from noisyrnn.rnn.layer import Layer, stacked


def modrelu(v: Tensor, b: Tensor) -> Tensor:
    """sign(v) relu(|v| + b); zero, with zero gradient, at v = 0.

    >>> modrelu(torch.tensor([-2.0, 0.0, 0.5]), torch.tensor(-1.0))
    tensor([-1., 0., 0.])
    """
    return v.sign() * torch.relu(v.abs() + b)


class ExpRNNCell(Cell):
    """h <- modrelu(Q h + U x)."""

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        parametrisation: Parametrisation,
        rebase: int | None,
        polish: int,
        start: RotationStart,
    ) -> None:
        super().__init__(inputs, units)
        self.orthogonal = Orthogonal(units, parametrisation, start=start, rebase=rebase, polish=polish)
        self.U = nn.Parameter(torch.randn(units, inputs) * math.sqrt(2 / inputs))
        self.b = nn.Parameter(torch.empty(units).uniform_(-0.01, 0.01))

    def built(self, *, noisy: bool) -> _BuiltExpRNNCell:
        return _BuiltExpRNNCell(self)

    def encode(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.U)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        return self.built(noisy=False).step(states, u, dt, xi, chance)


class _BuiltExpRNNCell(Cell):
    def __init__(self, cell: ExpRNNCell) -> None:
        super().__init__(cell.inputs, cell.units)
        self.cell = cell
        self.Q = cell.orthogonal()

    def encode(self, x: Tensor) -> Tensor:
        return self.cell.encode(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        return (modrelu(states[0] @ self.Q.mT + u, self.cell.b),)


class ExpRNN(Layer):
    """h <- modrelu(Q h + U x), Q orthogonal. Default: the released script's, dynamic trivialisation with K = 100.

    >>> ExpRNN(1, 8, parametrisation=Parametrisation.CAYLEY)(torch.randn(5, 2, 1))[0].shape
    torch.Size([5, 2, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        parametrisation: Parametrisation = Parametrisation.DYNAMIC,
        rebase: int | None = 100,
        polish: int = 100,
        start: RotationStart = RotationStart.CAYLEY,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> ExpRNNCell:
            return ExpRNNCell(
                inputs, hidden_size, parametrisation=parametrisation, rebase=rebase, polish=polish, start=start
            )

        super().__init__(
            stacked(cell, input_size, hidden_size, num_layers, bidirectional),
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
        )
        self.to(device=device, dtype=dtype)

    def orthogonal_parameters(self) -> list[nn.Parameter]:
        """The parameters behind the orthogonal matrices, which the paper trains at a tenth of the rate."""
        return [module.A for module in self.modules() if isinstance(module, Orthogonal)]


class Exponential(ModelSetting):
    """Setting of :class:`ExpRNN`."""

    kind: Literal["exprnn"] = "exprnn"
    parametrisation: Parametrisation = Parametrisation.DYNAMIC
    rebase: int | None = 100
    polish: int = 100
    start: RotationStart = RotationStart.CAYLEY

    def layer(self, inputs: int) -> ExpRNN:
        return ExpRNN(inputs, self.hidden, **self.options())
