"""Networks: a layer and a readout of its last valid state, logits = V h_T + c."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """logits = V h_T + c, with h_T the layer's state at each sequence's last valid step.

    Input is (batch, time, inputs), whatever the layer's own order of axes. Anything that can be called like this
    library's layers will do as ``layer``.

    >>> import noisyrnn
    >>> network = Classifier(noisyrnn.NoisyRNN(1, 8), classes=3).eval()
    >>> network(torch.zeros(5, 20, 1)).shape
    torch.Size([5, 3])
    """

    def __init__(self, layer: Any, classes: int) -> None:
        super().__init__()
        if classes < 2:
            raise ValueError(f"A classifier needs at least 2 classes, got {classes}.")
        self.layer = layer
        self.readout = nn.Linear(layer.output_size, classes)

    @property
    def classes(self) -> int:
        return self.readout.out_features

    def forward(self, x: Tensor, **call: Any) -> Tensor:
        """Logits (batch, classes); keywords are those of the layer's call: lengths, mask, dt, noise, generator, key."""
        return self.readout(self.features(x, **call))

    def features(self, x: Tensor, **call: Any) -> Tensor:
        """Last valid state of the top layer, (batch, output_size)."""
        return self.layer.last(self.states(x, **call))

    def states(self, x: Tensor, **call: Any) -> Any:
        """Last valid states h_n of all layers, as the layer gives them."""
        if x.ndim != 3:
            raise ValueError(f"A classifier takes (batch, time, inputs), got shape {tuple(x.shape)}.")
        turned = x if self.layer.batch_first else x.transpose(0, 1)
        _, h_n = self.layer(turned, outputs=False, **self._turn(call))
        return h_n

    def _turn(self, call: dict[str, Any]) -> dict[str, Any]:
        dt = call.get("dt")
        if isinstance(dt, Tensor) and dt.ndim == 2 and not self.layer.batch_first:
            return {**call, "dt": dt.mT}
        return call

    @torch.no_grad()
    def probabilities(self, x: Tensor, *, draws: int = 0, **call: Any) -> Tensor:
        """softmax(logits), or their mean over ``draws`` noisy passes (Monte-Carlo prediction)."""
        if draws == 0:
            return self(x, noise=False, **call).softmax(-1)
        return torch.stack([self(x, noise=True, **call).softmax(-1) for _ in range(draws)]).mean(0)
