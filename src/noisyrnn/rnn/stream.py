"""Streams: a layer or a classifier fed piece by piece, which remembers its state and where it is in its noise path."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.rnn.layer import Hidden, Layer
from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.pooling import Pooling, RunningPool
from noisyrnn.rnn.quick_step import QuickStep
from noisyrnn.sde.brownian import STEPS, Key, fresh_key


class Stream:
    """A network that is fed piece by piece: pieces joined give what the whole sequence gives, noise included.

    Of a layer a piece gives its outputs; of a classifier, the logits of all that was seen so far, with a running mean
    where it reads out a mean. After the 2^32 steps that a key has noise for, a stream goes on with the key's successor.

    Parameters
    ----------
    network
        A layer, or a classifier; of one direction.
    h_0
        The state to begin from, zeros by default.
    noise, generator, key
        As in a layer's call; noise is off by default.

    Examples
    --------
    >>> import noisyrnn
    >>> layer = noisyrnn.LipschitzRNN(1, 4, dt=0.1).eval()
    >>> x, stream = torch.randn(6, 2, 1), Stream(layer)
    >>> pieces = torch.cat([stream(x[:2]), stream(x[2:])])
    >>> torch.allclose(pieces, layer(x)[0])
    True
    >>> classifier = noisyrnn.Classifier(layer, classes=3)
    >>> watch, x = Stream(classifier), torch.randn(2, 6, 1)
    >>> early, late = watch(x[:, :2]), watch(x[:, 2:])
    >>> torch.allclose(early, classifier(x[:, :2])), torch.allclose(late, classifier(x))
    (True, True)
    """

    def __init__(
        self,
        network: Layer | Classifier,
        h_0: Hidden | None = None,
        *,
        noise: bool = False,
        generator: torch.Generator | None = None,
        key: Key | None = None,
    ) -> None:
        layer = network.layer if isinstance(network, Classifier) else network
        if layer.directions > 1:
            raise ValueError("A bidirectional layer needs the whole sequence; stream a layer of one direction.")
        pooling = network.pooling if isinstance(network, Classifier) else Pooling.LAST
        self.network = network
        self._pool = None if pooling is Pooling.LAST else RunningPool(pooling)
        self._quick = QuickStep(layer, batch_first=layer.batch_first or isinstance(network, Classifier))
        self.state = h_0
        self.noise = noise
        self.key = fresh_key(generator) if key is None and noise else key

    def __call__(self, x: Tensor, *, dt: float | Tensor | None = None) -> Tensor:
        """Outputs for the next piece of the sequence, or the logits after it."""
        if not isinstance(x, Tensor):
            raise ValueError("A stream takes plain tensors, not packed sequences.")
        layer = self.network.layer if isinstance(self.network, Classifier) else self.network
        if dt is None and self._quick.fits(x, self.state, self.key, noise=self.noise):
            return self._one_step(x)
        batch_first = True if isinstance(self.network, Classifier) else layer.batch_first and x.ndim == 3
        inputs = x.shape[1 if batch_first else 0]
        if self.key is not None and (self.key.step + inputs) * layer.substeps >= STEPS:
            # The numbers of a key come to an end; whoever feeds a stream for weeks does not want to know.
            self.key = self.key.successor()
        if isinstance(self.network, Classifier):
            output = self._logits(self.network, x, dt)
        else:
            output, self.state = self.network(x, self.state, dt=dt, noise=self.noise, key=self.key)
        if self.key is not None:
            self.key = self.key.later(inputs)
        return output

    def _logits(self, network: Classifier, x: Tensor, dt: float | Tensor | None) -> Tensor:
        call = {"h_0": self.state, "dt": dt, "noise": self.noise, "key": self.key}
        if self._pool is None:
            self.state = network.states(x, **call)
            return network.readout(network.layer.last(self.state))
        outputs, self.state = network.outputs(x, **call)
        return network.readout(self._pool(outputs))

    def _one_step(self, x: Tensor) -> Tensor:
        assert isinstance(self.state, Tensor)
        after = self._quick(x, self.state, 0 if self.key is None else self.key.step)
        self.state = after.unsqueeze(0)
        if self.key is not None:
            self.key = self.key.later(1)
        if isinstance(self.network, Classifier):
            return self.network.readout(after if self._pool is None else self._pool(after.unsqueeze(0)))
        return after.unsqueeze(1 if self.network.batch_first else 0)
