"""One input at a time without the cost of a whole call: matrices are built and packed once, until a weight changes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn.rnn import native
from noisyrnn.rnn.layer import Hidden, Layer
from noisyrnn.rnn.routes import Route, chosen
from noisyrnn.rnn.tracing import traced
from noisyrnn.sde.brownian import STEPS, Key


class QuickStep:
    """The next state of a layer for one input a sequence, by the kernel; without gradients."""

    def __init__(self, layer: nn.Module, *, batch_first: bool) -> None:
        self.cell = layer._cell(0) if isinstance(layer, Layer) and len(layer.cells) == 1 else None
        # Dictionaries of the modules, so that a parameter that is replaced is seen.
        self.weights = [module._parameters for module in layer.modules()]
        self.time = 1 if batch_first else 0
        self.step: native.TanhStep | None = None
        self.made_for: Any = None

    def fits(self, x: Tensor, state: Hidden | None, key: Key | None, *, noise: bool) -> bool:
        """Whether the next call can be made here; prepares it. The first call of a stream never is: it checks more."""
        if self.cell is None or not isinstance(state, Tensor) or x.ndim != 3 or x.shape[self.time] != 1:
            return False
        if (
            torch.is_grad_enabled()
            or not native.available()
            or traced()
            or chosen() is not Route.AUTO
            or state.shape[0] != 1
        ):
            return False
        if noise and (key is None or key.step >= STEPS - 1 or isinstance(key.value, Tensor)):
            return False
        address = (key.value, key.sample) if noise and key is not None else None
        made_for = (state.shape, address, self._versions())
        if made_for != self.made_for or self.step is None or not self.step.fresh():
            self.made_for, self.step = made_for, self._prepared(state, key if noise else None)
        return self.step is not None and self.step.fits(x.select(self.time, 0), state[0])

    def __call__(self, x: Tensor, state: Tensor, number: int) -> Tensor:
        """The state (batch, units) after ``x``, which fits."""
        assert self.step is not None
        return self.step(x.select(self.time, 0), state[0], number)

    def _prepared(self, state: Tensor, key: Key | None) -> native.TanhStep | None:
        cell = self.cell
        if cell is None:
            return None
        if state.device.type != "cpu" or state.dtype not in (torch.float32, torch.float64) or (key and not cell.noisy):
            return None
        built = cell.built(noisy=key is not None)
        fast = built.fast_path(None)
        first = None if key is None else key.at(layer=0)
        return None if fast is None else fast.stepper(state.shape[1], state, first)

    def _versions(self) -> list[tuple[int, int]]:
        return [(p.data_ptr(), p._version) for weights in self.weights for p in weights.values() if p is not None]
