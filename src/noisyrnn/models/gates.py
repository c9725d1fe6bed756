r"""torch's recurrences as cells, one step at a time, so that what happens between two inputs can be changed.

    RNN     h' = tanh(U x + b + W h + c)
    LSTM    i, f, g, o = U x + b + W h + c;      c' = sigma(f) c + sigma(i) tanh(g);      h' = sigma(o) tanh(c')
    GRU     h' = h + f,   f = (1 - z) (n - h):   r, z = sigma(U x + b + W h + c),   n = tanh(U x + b + r (W h + c))

A GRU is an Euler step of size 1 along the drift f (De Brouwer and others 2019): so it takes noise as the paper's
network does, ``sde.diffusion`` and all (``models.noisy_gru``).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from noisyrnn.rnn.cell import Cell, States
from noisyrnn.sde.drift import Drift


class RNNCell(Cell):
    """h' = tanh(U x + b + W h + c)."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(inputs, units)
        self.input, self.recurrent = nn.Linear(inputs, units), nn.Linear(units, units)

    def encode(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        return (torch.tanh(u + self.recurrent(states[0])),)


class LSTMCell(Cell):
    """States (h, c): what is shown, and what is kept."""

    arity = 2

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(inputs, units)
        self.input, self.recurrent = nn.Linear(inputs, 4 * units), nn.Linear(units, 4 * units)

    def encode(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        h, c = states
        let_in, keep, new, show = (u + self.recurrent(h)).chunk(4, dim=-1)
        c = torch.sigmoid(keep) * c + torch.sigmoid(let_in) * torch.tanh(new)
        return torch.sigmoid(show) * torch.tanh(c), c


class GRUDrift(Drift):
    """f(h, x) = (1 - z)(n - h), with torch's gates and torch's initial weights, uniform in +-1 / sqrt(units).

    >>> torch.manual_seed(0)
    <...>
    >>> drift, x, h = GRUDrift(inputs=2, units=3), torch.randn(4, 2), torch.randn(4, 3)
    >>> (h + drift(h, drift.encode(x))).shape
    torch.Size([4, 3])
    """

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(units)
        self.inputs = inputs
        self.input, self.recurrent = nn.Linear(inputs, 3 * units), nn.Linear(units, 3 * units)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5)

    def encode(self, x: Tensor) -> Tensor:
        return self.input(x)

    def forward(self, h: Tensor, u: Tensor) -> Tensor:
        reset, keep, new = u.chunk(3, dim=-1)
        by_reset, by_keep, by_new = self.recurrent(h).chunk(3, dim=-1)
        n = torch.tanh(new + torch.sigmoid(reset + by_reset) * by_new)
        return (1 - torch.sigmoid(keep + by_keep)) * (n - h)


def take_weights(cell: RNNCell | LSTMCell | GRUDrift, layer: nn.RNNBase, suffix: str) -> None:
    """The weights of one layer and direction of torch's module, as the cell's own."""
    with torch.no_grad():
        cell.input.weight.copy_(getattr(layer, f"weight_ih_{suffix}"))
        cell.recurrent.weight.copy_(getattr(layer, f"weight_hh_{suffix}"))
        cell.input.bias.copy_(getattr(layer, f"bias_ih_{suffix}"))
        cell.recurrent.bias.copy_(getattr(layer, f"bias_hh_{suffix}"))
