"""torch's own RNN, LSTM and GRU behind the same face: settings, lengths, ``last``; no noise and no step size."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from noisyrnn.models.choice import refuse_other
from noisyrnn.models.gates import GRUDrift, LSTMCell, RNNCell, take_weights
from noisyrnn.models.model import ModelSetting
from noisyrnn.rnn.cell import Cell
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.lengths import checked_lengths
from noisyrnn.rnn.sde_cell import SDECell


class Recurrence(StrEnum):
    """Which of torch's recurrences."""

    RNN = "rnn"
    LSTM = "lstm"
    GRU = "gru"


_TORCH = {Recurrence.RNN: nn.RNN, Recurrence.LSTM: nn.LSTM, Recurrence.GRU: nn.GRU}


class ClassicRNNSetting(ModelSetting):
    """torch's RNN, LSTM or GRU: setting of :class:`ClassicRNN`."""

    kind: Literal["classic"] = "classic"
    recurrence: Recurrence = Recurrence.LSTM

    def layer(self, inputs: int) -> ClassicRNN:
        return ClassicRNN(inputs, self.hidden, **self.options())


_DEFAULT = ClassicRNNSetting()


class ClassicRNN(nn.Module):
    """h <- tanh(W h + U x + b), or torch's LSTM or GRU, called like every layer here.

    >>> output, (h, c) = ClassicRNN(1, 8, recurrence=Recurrence.LSTM)(torch.randn(5, 2, 1))
    >>> output.shape
    torch.Size([5, 2, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        recurrence: Recurrence = _DEFAULT.recurrence,
        batch_first: bool = False,
        dropout: float = _DEFAULT.dropout,
        bidirectional: bool = _DEFAULT.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        refuse_other("recurrence", recurrence, Recurrence)
        self.batch_first = batch_first
        self.directions = 2 if bidirectional else 1
        self.output_size = self.directions * hidden_size
        self.inner = _TORCH[recurrence](
            input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout, bidirectional=bidirectional,
            device=device, dtype=dtype,
        )  # fmt: skip

    def forward(
        self,
        x: Tensor | PackedSequence,
        h_0: Any = None,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        dt: float | Tensor | None = None,
        noise: bool | None = None,
        generator: torch.Generator | None = None,
        key: Any = None,
        route: Any = None,
        outputs: bool = True,
        chunk: int | None = None,
    ) -> tuple[Tensor | PackedSequence, Any]:
        """Outputs of the top layer, and the last states of all layers, as torch gives them."""
        if noise or dt is not None:
            raise ValueError("torch's RNN, LSTM and GRU have no hidden noise and no step size; leave noise and dt out.")
        if isinstance(x, PackedSequence) or x.ndim < 2:  # too few axes are torch's to refuse
            return self.inner(x, h_0)
        batch, steps = (x.shape[0], x.shape[1]) if self.batch_first else (x.shape[1], x.shape[0])
        counts = checked_lengths(lengths, mask, batch=batch, steps=steps, device=torch.device("cpu"))
        if counts is None:
            return self.inner(x, h_0)
        if bool((counts < 1).any()):
            raise ValueError("torch's RNN, LSTM and GRU need sequences of at least 1 step; drop the empty ones.")
        packed = pack_padded_sequence(x, counts, batch_first=self.batch_first, enforce_sorted=False)
        output, h_n = self.inner(packed, h_0)
        return pad_packed_sequence(output, batch_first=self.batch_first, total_length=steps)[0], h_n

    def last(self, h_n: Any) -> Tensor:
        """Last valid states of the top layer, (batch, directions x units)."""
        h = h_n[0] if isinstance(h_n, tuple) else h_n
        return torch.cat(tuple(h[-self.directions :]), dim=-1)

    def stepwise(self) -> Layer:
        """The same layer as cells that step from input to input: slower, and open to what happens in between.

        >>> layer, x = ClassicRNN(1, 8, recurrence=Recurrence.GRU).eval(), torch.randn(5, 2, 1)
        >>> torch.allclose(layer.stepwise()(x)[0], layer(x)[0], atol=1e-6)
        True
        """
        inner, cells = self.inner, []
        for level in range(inner.num_layers):
            for suffix in ("", "_reverse")[: self.directions]:
                inputs = inner.input_size if level == 0 else self.output_size
                cell, weights = _cell_of(inner, inputs)
                take_weights(weights, inner, f"l{level}{suffix}")
                cells.append(cell.to(inner.weight_ih_l0))
        return Layer(cells, batch_first=self.batch_first, bidirectional=self.directions == 2).train(self.training)


def _cell_of(inner: nn.RNNBase, inputs: int) -> tuple[Cell, RNNCell | LSTMCell | GRUDrift]:
    """A cell of the same recurrence, and the part of it that has the weights."""
    if isinstance(inner, nn.GRU):
        drift = GRUDrift(inputs, inner.hidden_size)
        return SDECell(drift, dt=1.0), drift
    cell = (LSTMCell if isinstance(inner, nn.LSTM) else RNNCell)(inputs, inner.hidden_size)
    return cell, cell
