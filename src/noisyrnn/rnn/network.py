"""Networks: a layer and a readout, logits = V h_T + c of its last valid state, or of what it shows over time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.lengths import checked_lengths
from noisyrnn.rnn.pooling import Pooling, pooled
from noisyrnn.rnn.readout import EqualRows


class Classifier(nn.Module):
    """logits = V h_T + c, with h_T the layer's state at each sequence's last valid step.

    With another ``pooling``, the mean of the layer's outputs over the valid steps is read out in place of h_T, or their
    mean and their largest side by side. With ``norm`` the rows of V all have that length. Input is (batch, time,
    inputs), whatever the layer's own order of axes; anything that can be called like this library's layers will do as
    ``layer``.

    >>> import noisyrnn
    >>> network = Classifier(noisyrnn.NoisyRNN(1, 8), classes=3).eval()
    >>> network(torch.zeros(5, 20, 1)).shape
    torch.Size([5, 3])
    >>> Classifier(noisyrnn.NoisyRNN(1, 8), classes=3, pooling=Pooling.MEAN_MAX).readout
    Linear(in_features=16, out_features=3, bias=True)
    """

    readout: nn.Linear | EqualRows

    def __init__(self, layer: Any, classes: int, *, pooling: Pooling = Pooling.LAST, norm: float | None = None) -> None:
        super().__init__()
        if classes < 2:
            raise ValueError(f"A classifier needs at least 2 classes, got {classes}.")
        if not hasattr(layer, "output_size") or not hasattr(layer, "last"):
            raise ValueError(
                f"A classifier takes a layer such as NoisyRNN(1, 8), got {type(layer).__name__}; an own layer is made "
                "with noisyrnn.rnn.Layer."
            )
        self.layer = layer
        self.pooling = Pooling(pooling)
        features = self.pooling.parts * layer.output_size
        self.readout = nn.Linear(features, classes) if norm is None else EqualRows(features, classes, norm=norm)

    @property
    def classes(self) -> int:
        return self.readout.out_features

    def forward(self, x: Tensor, **call: Any) -> Tensor:
        """Logits (batch, classes); keywords are those of the layer's call: lengths, mask, dt, noise, generator, key."""
        return self.readout(self.features(x, **call))

    def features(self, x: Tensor, **call: Any) -> Tensor:
        """What is read out, (batch, features): the top layer's last valid state, or its outputs pooled over time."""
        if self.pooling is Pooling.LAST:
            return self.layer.last(self.states(x, **call))
        if self.pooling is Pooling.MEAN and isinstance(self.layer, Layer):
            return self._run(x, outputs=False, mean=True, **call)[0]
        outputs, _ = self.outputs(x, **call)
        steps, batch, _ = outputs.shape
        lengths = checked_lengths(
            call.get("lengths"), call.get("mask"), batch=batch, steps=steps, device=outputs.device
        )
        return pooled(outputs, lengths, self.pooling)

    def states(self, x: Tensor, **call: Any) -> Any:
        """Last valid states h_n of all layers, as the layer gives them."""
        return self._run(x, outputs=False, **call)[1]

    def outputs(self, x: Tensor, **call: Any) -> tuple[Tensor, Any]:
        """Outputs (time, batch, units) of the top layer, and h_n."""
        outputs, states = self._run(x, outputs=True, **call)
        return outputs.transpose(0, 1) if self.layer.batch_first else outputs, states

    def _run(self, x: Tensor, *, outputs: bool, **call: Any) -> tuple[Any, Any]:
        if not isinstance(x, Tensor):
            raise ValueError(f"A classifier takes a tensor, got {type(x).__name__}: give torch.as_tensor(x).")
        if x.ndim != 3:
            raise ValueError(f"A classifier takes (batch, time, inputs), got shape {tuple(x.shape)}.")
        turned = x if self.layer.batch_first else x.transpose(0, 1)
        return self.layer(turned, outputs=outputs, **self._turn(call))

    def extra_repr(self) -> str:
        return f"axes=(batch, time, inputs), pooling={self.pooling.value}"

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
