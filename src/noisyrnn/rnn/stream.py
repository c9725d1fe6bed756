"""Streams: a layer fed piece by piece, which remembers its state and where it is in its noise path."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.rnn.layer import Hidden, Layer
from noisyrnn.sde.brownian import Key, fresh_key


class Stream:
    """A layer that is fed piece by piece: pieces joined give what the whole sequence gives, noise included.

    >>> import noisyrnn
    >>> layer = noisyrnn.LipschitzRNN(1, 4, dt=0.1).eval()
    >>> x, stream = torch.randn(6, 2, 1), Stream(layer)
    >>> pieces = torch.cat([stream(x[:2]), stream(x[2:])])
    >>> torch.allclose(pieces, layer(x)[0])
    True
    """

    def __init__(
        self,
        layer: Layer,
        h_0: Hidden | None = None,
        *,
        noise: bool = False,
        generator: torch.Generator | None = None,
        key: Key | None = None,
    ) -> None:
        if layer.bidirectional:
            raise ValueError("A bidirectional layer needs the whole sequence; stream a layer of one direction.")
        self.layer = layer
        self.state = h_0
        self.noise = noise
        self.key = fresh_key(generator) if key is None and noise else key

    def __call__(self, x: Tensor, *, dt: float | Tensor | None = None) -> Tensor:
        """Outputs for the next piece of the sequence."""
        output, self.state = self.layer(x, self.state, dt=dt, noise=self.noise, key=self.key)
        if self.key is not None:
            self.key = self.key.later(x.shape[1] if self.layer.batch_first and x.ndim == 3 else x.shape[0])
        if not isinstance(output, Tensor):
            raise ValueError("A stream takes plain tensors, not packed sequences.")
        return output
