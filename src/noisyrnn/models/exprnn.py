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
from noisyrnn.models.model import Count, ModelSetting
from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Call, Cell, FastPath, Sequenced, States
from noisyrnn.rnn.pooling import shown
from noisyrnn.rnn.stack import StackedLayer


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
        return _BuiltExpRNNCell(self.inputs, self.orthogonal(), self.b, self.U)

    def encode(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.U)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        return self.built(noisy=False).step(states, u, dt, xi, uniforms)


class _BuiltExpRNNCell(Cell, FastPath):
    """The cell with Q built; without U it takes drives instead of inputs."""

    def __init__(self, inputs: int, Q: Tensor, b: Tensor, U: Tensor | None) -> None:
        super().__init__(inputs, Q.shape[0])
        # Plain tensors, not this module's own parameters.
        self.tensors = (Q, b, U)

    def encode(self, x: Tensor) -> Tensor:
        U = self.tensors[2]
        return x if U is None else nn.functional.linear(x, U)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        Q, b, _ = self.tensors
        return (modrelu(states[0] @ Q.mT + u, b),)

    def fast_path(self, dt: Tensor | None) -> FastPath:
        return self

    def by_kernel(self, x: Tensor, states: States, call: Call) -> Sequenced:
        Q, b, U = self.tensors
        scanned = native.exprnn_scan(
            x, states[0], Q, b, U, lengths=call.lengths, chunk=call.chunk, states=call.outputs and not call.mean,
            total=call.mean,
        )  # fmt: skip
        return shown(scanned.states, scanned.total, x.shape[0], call.lengths), (scanned.last,)


class ExpRNNSetting(ModelSetting):
    """Orthogonal recurrence, h <- modrelu(Q h + U x): setting of :class:`ExpRNN`."""

    kind: Literal["exprnn"] = "exprnn"
    parametrisation: Parametrisation = Parametrisation.DYNAMIC
    rebase: Count | None = 100
    polish: Count = 100
    start: RotationStart = RotationStart.CAYLEY

    def layer(self, inputs: int) -> ExpRNN:
        return ExpRNN(inputs, self.hidden, **self.options())


_DEFAULT = ExpRNNSetting()


class ExpRNN(StackedLayer):
    """h <- modrelu(Q h + U x), Q orthogonal. Default: the released script's, dynamic trivialisation with K = 100.

    Parameters
    ----------
    input_size, hidden_size, num_layers, batch_first, dropout, bidirectional, device, dtype
        As in ``torch.nn.RNN``.
    parametrisation
        How Q is made from free parameters.
    rebase, polish
        Training sequences between moves of the base of a dynamic trivialisation (None: never), and moves between
        those that make it exactly orthogonal again.
    start
        Law of the initial rotation angles.

    Examples
    --------
    >>> ExpRNN(1, 8, parametrisation=Parametrisation.CAYLEY)(torch.randn(5, 2, 1))[0].shape
    torch.Size([5, 2, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        parametrisation: Parametrisation = _DEFAULT.parametrisation,
        rebase: int | None = _DEFAULT.rebase,
        polish: int = _DEFAULT.polish,
        start: RotationStart = _DEFAULT.start,
        batch_first: bool = False,
        dropout: float = _DEFAULT.dropout,
        bidirectional: bool = _DEFAULT.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> ExpRNNCell:
            return ExpRNNCell(
                inputs, hidden_size, parametrisation=parametrisation, rebase=rebase, polish=polish, start=start
            )

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip

    def orthogonal_parameters(self) -> list[nn.Parameter]:
        """The parameters behind the orthogonal matrices, which the paper trains at a tenth of the rate."""
        return [module.A for module in self.modules() if isinstance(module, Orthogonal)]
