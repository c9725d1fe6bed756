r"""Linear recurrent unit (Orvieto and others 2023), with the paper's noise in its complex state.

    h' = lam h + gamma (B x),      lam = exp(-exp(nu) + i exp(theta)),      gamma = exp(g)
    y  = Re(C h') + D x,           output = (P a + p) sigma(Q a + q),       a = gelu(y)

n complex units, kept as real and imaginary parts; the gated map behind them is that of the authors' block, without its
normalisation and its skip. As a step of size 1 the drift is f = (lam - 1) h + gamma (B x), of 2 n real numbers, and
noise enters as in the noisy RNN: h + f + (sigma_1 + sigma_2 f) xi, or h + (1 - m + m U) f + s xi.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from noisyrnn.models.noisy_gates import NoiseSetting, with_noise
from noisyrnn.rnn.cell import Cell, NoisePath, States
from noisyrnn.rnn.stack import StackedLayer
from noisyrnn.sde.brownian import Key
from noisyrnn.sde.convention import Convention
from noisyrnn.sde.drift import Drift, hold


class LRUSetting(NoiseSetting):
    """Complex diagonal recurrence and a gated map behind it: setting of :class:`LRU`."""

    kind: Literal["lru"] = "lru"
    r_min: float = 0.9
    r_max: float = 0.999

    def layer(self, inputs: int) -> LRU:
        return LRU(inputs, self.hidden, **self.options())


_DEFAULT = LRUSetting()


class _BuiltLRUDrift(Drift):
    """f = (lam - 1) h + u from explicit lam; h and u hold real parts, then imaginary ones."""

    real: Tensor
    imaginary: Tensor
    B: Tensor

    def __init__(self, real: Tensor, imaginary: Tensor, B: Tensor) -> None:
        super().__init__(2 * len(real))
        for name, value in {"real": real, "imaginary": imaginary, "B": B}.items():
            hold(self, name, value)

    def encode(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.B)

    def forward(self, h: Tensor, u: Tensor) -> Tensor:
        real, imaginary = h.chunk(2, dim=-1)
        turned = self.real * real - self.imaginary * imaginary, self.imaginary * real + self.real * imaginary
        return torch.cat(turned, dim=-1) - h + u


class LRUDrift(Drift):
    """f(h, x) = (lam - 1) h + gamma (B x), with |lam| drawn from the ring between ``r_min`` and ``r_max``."""

    def __init__(self, inputs: int, units: int, *, r_min: float, r_max: float) -> None:
        super().__init__(2 * units)
        if not 0 <= r_min < r_max < 1:
            raise ValueError(f"The ring of an LRU needs 0 <= r_min < r_max < 1, got r_min={r_min}, r_max={r_max}.")
        self.inputs = inputs
        squares = r_min**2 + (r_max**2 - r_min**2) * torch.rand(units)
        self.nu = nn.Parameter(torch.log(-0.5 * torch.log(squares)))
        self.theta = nn.Parameter(torch.log(2 * math.pi * torch.rand(units)))
        self.g = nn.Parameter(0.5 * torch.log(1 - squares))
        self.B = nn.Parameter(torch.randn(2 * units, inputs) / math.sqrt(2 * inputs))

    def built(self) -> Drift:
        size, angle = torch.exp(-torch.exp(self.nu)), torch.exp(self.theta)
        gamma = torch.exp(self.g).repeat(2).unsqueeze(-1)
        return _BuiltLRUDrift(size * torch.cos(angle), size * torch.sin(angle), gamma * self.B)

    def encode(self, x: Tensor) -> Tensor:
        return self.built().encode(x)

    def forward(self, h: Tensor, u: Tensor) -> Tensor:
        return self.built()(h, u)


class LRUCell(Cell):
    """States (Re h, Im h, output): noise meets the first two, the layer shows the third."""

    arity = 3

    def __init__(self, inputs: int, units: int, recurrence: Any, maps: tuple[nn.Module, ...] | None = None) -> None:
        super().__init__(inputs, units)
        self.recurrence = recurrence
        self.noises, self.takes_uniforms = recurrence.noises, recurrence.takes_uniforms
        if maps is None:
            C = nn.Linear(2 * units, units, bias=False)
            nn.init.normal_(C.weight, std=1 / math.sqrt(units))
            D = nn.Linear(inputs, units, bias=False)
            nn.init.normal_(D.weight, std=1 / math.sqrt(inputs))
            maps = C, D, nn.Linear(units, units), nn.Linear(units, units)
        self.C, self.D, self.P, self.Q = maps

    def encode(self, x: Tensor) -> Tensor:
        return torch.cat((self.recurrence.encode(x), self.D(x)), dim=-1)

    def built(self, *, noisy: bool) -> Cell:
        maps = (self.C, self.D, self.P, self.Q)
        return LRUCell(self.inputs, self.units, self.recurrence.built(noisy=noisy), maps)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        h, drive = torch.cat(states[:2], dim=-1), u[..., : 2 * self.units]
        (h,) = self.recurrence.step((h,), drive, dt, xi, uniforms)
        shown = nn.functional.gelu(self.C(h) + u[..., 2 * self.units :])
        real, imaginary = h.chunk(2, dim=-1)
        return real, imaginary, self.P(shown) * torch.sigmoid(self.Q(shown))

    def observe(self, states: States) -> Tensor:
        return states[2]

    def path(self, key: Key, samples: int, steps: int, like: Tensor) -> NoisePath:
        return self.recurrence.path(key, samples, steps, like)


class LRU(StackedLayer):
    """h' = lam h + gamma B x in complex numbers, and a gated map of it; noise in ``train()``, none in ``eval()``.

    Parameters
    ----------
    input_size, hidden_size, num_layers, batch_first, dropout, bidirectional, device, dtype
        As in ``torch.nn.RNN``; ``hidden_size`` counts complex units.
    r_min, r_max
        The ring in which the initial lam lie.
    additive, multiplicative, convention
        Strengths of the noise and what they mean, as in :class:`~noisyrnn.NoisyRNN`.

    Examples
    --------
    >>> output, (real, imaginary, last) = LRU(1, 8, additive=0.1)(torch.randn(5, 2, 1))
    >>> output.shape, torch.equal(output[-1], last[0])
    (torch.Size([5, 2, 8]), True)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        r_min: float = _DEFAULT.r_min,
        r_max: float = _DEFAULT.r_max,
        additive: float = _DEFAULT.additive,
        multiplicative: float = _DEFAULT.multiplicative,
        convention: Convention = _DEFAULT.convention,
        batch_first: bool = False,
        dropout: float = _DEFAULT.dropout,
        bidirectional: bool = _DEFAULT.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> LRUCell:
            drift = LRUDrift(inputs, hidden_size, r_min=r_min, r_max=r_max)
            return LRUCell(inputs, hidden_size, with_noise(drift, additive, multiplicative, convention))

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip
