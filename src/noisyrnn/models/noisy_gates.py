r"""Gated recurrences with the paper's noise: a GRU and a minGRU as Euler steps of size 1 along a drift f.

    GRU      f = (1 - z)(n - h), gates of x and h (``models.gates``)
    minGRU   f = z (c - h),  z = sigma(W_z x + b_z),  c = g(W_c x + b_c),  g(v) = v + 1/2 for v >= 0, else sigma(v)

(minGRU: Feng and others, "Were RNNs all we needed?", 2024.) Noise enters as in the noisy RNN, in either convention:

    Ito        h + f + (sigma_1 + sigma_2 f) xi
    released   h + (1 - m + m U) f + s xi

and by the same contract. Without noise these are the cells of their papers.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from noisyrnn.models.gates import GRUDrift
from noisyrnn.models.model import ModelSetting
from noisyrnn.models.skew import noisy_cell
from noisyrnn.rnn.sde_cell import SDECell
from noisyrnn.rnn.stack import StackedLayer
from noisyrnn.sde.convention import Convention
from noisyrnn.sde.drift import Drift


class NoiseSetting(ModelSetting):
    """What recurrences with noise added to them share: its strengths, 0 by default, and what they mean."""

    additive: float = 0.0
    multiplicative: float = 0.0
    convention: Convention = Convention.RELEASED


class NoisyGRUSetting(NoiseSetting):
    """h + (1 - z)(n - h) + noise: setting of :class:`NoisyGRU`."""

    kind: Literal["noisy-gru"] = "noisy-gru"

    def layer(self, inputs: int) -> NoisyGRU:
        return NoisyGRU(inputs, self.hidden, **self.options())


class MinGRUSetting(NoiseSetting):
    """h + z (c - h) + noise, gates of the input alone: setting of :class:`MinGRU`."""

    kind: Literal["mingru"] = "mingru"

    def layer(self, inputs: int) -> MinGRU:
        return MinGRU(inputs, self.hidden, **self.options())


_GRU, _MINIMAL = NoisyGRUSetting(), MinGRUSetting()


class MinGRUDrift(Drift):
    """f(h, x) = z (c - h) with z = sigma(W_z x + b_z), c = g(W_c x + b_c).

    >>> drift = MinGRUDrift(inputs=2, units=3)
    >>> drift(torch.zeros(1, 3), drift.encode(torch.zeros(1, 2))).shape
    torch.Size([1, 3])
    """

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__(units)
        self.inputs = inputs
        self.gate, self.candidate = nn.Linear(inputs, units), nn.Linear(inputs, units)

    def encode(self, x: Tensor) -> Tensor:
        """(z, c), one after the other."""
        v = self.candidate(x)
        return torch.cat((torch.sigmoid(self.gate(x)), torch.where(v >= 0, v + 0.5, torch.sigmoid(v))), dim=-1)

    def forward(self, h: Tensor, u: Tensor) -> Tensor:
        z, c = u.chunk(2, dim=-1)
        return z * (c - h)


class NoisyGRU(StackedLayer):
    """torch's GRU, with noise in its hidden states in ``train()`` and none in ``eval()``.

    Parameters
    ----------
    input_size, hidden_size, num_layers, batch_first, dropout, bidirectional, device, dtype
        As in ``torch.nn.GRU``.
    additive, multiplicative, convention
        Strengths of the noise and what they mean, as in :class:`~noisyrnn.NoisyRNN`.

    Examples
    --------
    >>> layer, x = NoisyGRU(1, 8, additive=0.1), torch.randn(5, 2, 1)
    >>> torch.equal(layer(x)[0], layer(x)[0]), torch.equal(layer.eval()(x)[0], layer(x)[0])
    (False, True)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        additive: float = _GRU.additive,
        multiplicative: float = _GRU.multiplicative,
        convention: Convention = _GRU.convention,
        batch_first: bool = False,
        dropout: float = _GRU.dropout,
        bidirectional: bool = _GRU.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> SDECell:
            return with_noise(GRUDrift(inputs, hidden_size), additive, multiplicative, convention)

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip


class MinGRU(StackedLayer):
    """h + z (c - h), gates of the input alone, with noise in ``train()`` and none in ``eval()``; see :class:`NoisyGRU`.

    >>> MinGRU(1, 8, num_layers=2)(torch.randn(5, 2, 1))[0].shape
    torch.Size([5, 2, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        additive: float = _MINIMAL.additive,
        multiplicative: float = _MINIMAL.multiplicative,
        convention: Convention = _MINIMAL.convention,
        batch_first: bool = False,
        dropout: float = _MINIMAL.dropout,
        bidirectional: bool = _MINIMAL.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> SDECell:
            return with_noise(MinGRUDrift(inputs, hidden_size), additive, multiplicative, convention)

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip


def with_noise(drift: Drift, additive: float, multiplicative: float, convention: Convention) -> SDECell:
    """The drift in steps of size 1, with noise: a recurrence of the literature as an equation of the paper's kind."""
    return noisy_cell(
        drift, dt=1.0, additive=additive, multiplicative=multiplicative, convention=convention, learned_step=False
    )
