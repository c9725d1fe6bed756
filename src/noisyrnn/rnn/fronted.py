"""A network for series of any length: front end, recurrent layer, LayerNorm of its outputs, pooled readout."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn.rnn.front_end import FrontEnd
from noisyrnn.rnn.lengths import checked_lengths, zero_beyond
from noisyrnn.rnn.pooling import Pooling, pooled


class FrontedClassifier(nn.Module):
    """logits = V pool(norm(layer(front(x)))) + c, for x (batch, time, inputs).

    Parameters
    ----------
    layer
        A recurrent layer of this library, or one that is called like it; its inputs are the front end's features.
    classes
        How many classes there are.
    front_end
        What makes the layer's inputs; None: the series itself.
    pooling
        What is read out of the layer's outputs over the valid steps.
    normalised
        Whether each step's outputs go through a LayerNorm before they are pooled.

    Examples
    --------
    >>> import noisyrnn
    >>> front = FrontEnd(3, 8, stride=4)
    >>> layer = noisyrnn.NoisyRNN(8, 16, bidirectional=True, batch_first=True)
    >>> network = FrontedClassifier(layer, classes=5, front_end=front).eval()
    >>> network(torch.randn(2, 100, 3), lengths=torch.tensor([100, 30])).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        layer: Any,
        classes: int,
        *,
        front_end: FrontEnd | None = None,
        pooling: Pooling = Pooling.MEAN_MAX,
        normalised: bool = True,
    ) -> None:
        super().__init__()
        if classes < 2:
            raise ValueError(f"A classifier needs at least 2 classes, got {classes}.")
        self.front_end = front_end
        self.layer = layer
        self.norm = nn.LayerNorm(layer.output_size) if normalised else nn.Identity()
        self.pooling = Pooling(pooling)
        self.readout = nn.Linear(self.pooling.parts * layer.output_size, classes)

    @property
    def classes(self) -> int:
        return self.readout.out_features

    @property
    def causal(self) -> bool:
        """Whether nothing looks ahead, so that the network can be streamed."""
        return self.layer.directions == 1 and (self.front_end is None or self.front_end.causal)

    def forward(self, x: Tensor, **call: Any) -> Tensor:
        """Logits (batch, classes); keywords as of a layer's call: lengths, mask, dt, noise, generator, key."""
        return self.readout(self.features(x, **call))

    def features(
        self,
        x: Tensor,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        dt: float | Tensor | None = None,
        **call: Any,
    ) -> Tensor:
        """What is read out, (batch, features)."""
        if x.ndim != 3:
            raise ValueError(f"A classifier takes (batch, time, inputs), got shape {tuple(x.shape)}.")
        counts = checked_lengths(lengths, mask, batch=x.shape[0], steps=x.shape[1], device=x.device)
        z = x
        if self.front_end is not None:
            z, counts = self.front_end(x, counts)
            dt = self.front_end.step_sizes(dt) if isinstance(dt, Tensor) and dt.ndim == 2 else dt
        first = self.layer.batch_first
        if isinstance(dt, Tensor) and dt.ndim == 2 and not first:
            dt = dt.mT
        outputs, h_n = self.layer(z if first else z.transpose(0, 1), lengths=counts, dt=dt, **call)
        if self.pooling is Pooling.LAST:
            return self.norm(self.layer.last(h_n))
        outputs = self.norm(outputs.transpose(0, 1) if first else outputs)
        return pooled(zero_beyond(outputs, counts), counts, self.pooling)

    @torch.no_grad()
    def probabilities(self, x: Tensor, *, draws: int = 0, **call: Any) -> Tensor:
        """softmax(logits), or their mean over ``draws`` noisy passes (Monte-Carlo prediction)."""
        if draws == 0:
            return self(x, noise=False, **call).softmax(-1)
        return torch.stack([self(x, noise=True, **call).softmax(-1) for _ in range(draws)]).mean(0)

    def extra_repr(self) -> str:
        return f"pooling={self.pooling.value}"
