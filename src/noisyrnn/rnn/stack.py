"""Equal layers on top of each other, with the options of ``torch.nn.RNN``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import torch

from noisyrnn.rnn.cell import Cell
from noisyrnn.rnn.layer import Layer


class StackedLayer(Layer):
    """``num_layers`` equal layers, in one or both directions; ``cell`` makes a cell from its number of inputs.

    >>> class Leaky(Cell):
    ...     def step(self, states, u, dt, xi, uniforms):
    ...         return (0.9 * states[0] + u.mean(-1, keepdim=True),)
    >>> layer = StackedLayer(lambda inputs: Leaky(inputs, units=4), 3, 4, 2, bidirectional=True)
    >>> [cell.inputs for cell in layer.cells]
    [3, 3, 8, 8]
    """

    def __init__(
        self,
        cell: Callable[[int], Cell],
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if not isinstance(size, Integral) or size < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {size!r}.")
        if dropout and num_layers == 1:
            raise ValueError(
                f"dropout={dropout} acts between layers, and there is one: leave it out, or give num_layers=2."
            )
        directions = 2 if bidirectional else 1
        widths = [input_size] + [directions * hidden_size] * (num_layers - 1)
        super().__init__(
            [cell(width) for width in widths for _ in range(directions)],
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
        )
        self.to(device=device, dtype=dtype)
