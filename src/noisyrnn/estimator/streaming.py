"""Streams: samples in one by one, probabilities out after each, as ``predict_proba`` would give them for all so far.

Every stream has a clock of its own. The front end keeps as many samples as its window is wide; pooled readouts keep a
running sum and a running maximum: the cost of a sample depends on neither the past nor the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from noisyrnn.estimator.preparation import Missing, Scaling, stable_gaps
from noisyrnn.rnn.pooling import Pooling

if TYPE_CHECKING:
    from noisyrnn.estimator.classifier import NoisyRNNClassifier


class ClassifierStream:
    """``push(x_t)`` -> probabilities; with ``streams``, of many at once.

    Examples
    --------
    >>> from noisyrnn import NoisyRNNClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(12, 20)), np.arange(12) % 2
    >>> classifier = NoisyRNNClassifier(causal=True, hidden_size=8, n_epochs=1, random_state=0).fit(X, y)
    >>> stream = classifier.stream()
    >>> for value in X[0]:
    ...     probabilities = stream.push(value)
    >>> bool(np.allclose(probabilities, classifier.predict_proba(X[:1])[0], atol=1e-5))
    True
    """

    def __init__(self, classifier: NoisyRNNClassifier, streams: int | None = None) -> None:
        network = classifier.network_
        if not network.causal:
            raise ValueError("This classifier looks ahead and cannot be streamed: train it with causal=True.")
        if classifier.companion_ is not None:
            raise ValueError("A companion looks at whole series and cannot be streamed: train with companion=None.")
        if classifier.preparation_.scaling is Scaling.SERIES:
            raise ValueError("scaling='series' needs the whole series: train with scaling='channel' to stream.")
        if classifier.preparation_.missing is Missing.INTERPOLATE:
            raise ValueError("missing='interpolate' looks ahead: train with missing='mask' to stream through gaps.")
        if streams is not None and streams < 1:
            raise ValueError(f"streams must be at least 1, got {streams}.")
        self.classes_ = classifier.classes_
        self._preparation, self._network = classifier.preparation_, network
        self._single, self.streams = streams is None, streams or 1
        self._front = network.front_end
        self._weight = next(network.parameters())
        width = 1 if self._front is None else self._front.width
        self._clock = torch.zeros(self.streams, dtype=torch.int64)
        self._step = classifier.step_
        self._time = torch.zeros(self.streams, dtype=torch.float64)
        self._elapsed = self._weight.new_zeros(self.streams)  # since the layer's last step
        self._window = self._weight.new_zeros(self.streams, width, self._preparation.inputs)
        self._states: tuple[Tensor, ...] | None = None
        self._tuple = False
        size = network.layer.output_size
        self._sum = self._weight.new_zeros(self.streams, size)
        self._largest = self._weight.new_full((self.streams, size), -torch.inf)
        self._last = self._weight.new_zeros(self.streams, size)
        self._count = torch.zeros(self.streams, dtype=torch.int64)

    @property
    def clock(self) -> NDArray[np.int64]:
        """How many samples each stream has seen."""
        return self._clock.numpy().copy()

    def reset(self, streams: Sequence[int] | None = None) -> None:
        """Begin these streams again, or all of them."""
        index = self._index(streams)
        own = (self._clock, self._time, self._elapsed, self._window, self._sum, self._last, self._count)
        for one in (*own, *(self._states or ())):
            if one.ndim == 3 and one is not self._window:
                one[:, index] = 0
            else:
                one[index] = 0
        self._largest[index] = -torch.inf

    @torch.no_grad()
    def push(self, x: Any, streams: Sequence[int] | None = None, *, times: Any = None) -> NDArray[np.float64]:
        """Probabilities after the next sample: a number, or (channels); of many streams (streams, channels).

        ``streams`` names those that a sample arrived for; the others stand still. A classifier that was trained with
        times takes the time stamp of each sample, a number or (streams).
        """
        index = self._index(streams)
        values, stamps = self._prepared(x, len(index)), self._stamps(times, index)
        if stamps is not None:
            self._pass_time(stamps, index)
        self._window[index] = torch.cat([self._window[index, 1:], values.unsqueeze(1)], dim=1)
        stride = 1 if self._front is None else self._front.stride
        due = index[self._clock[index] % stride == 0]
        self._clock[index] += 1
        if len(due):
            self._advance(due)
        logits = self._network.readout(self._features(index))
        probabilities = logits.double().softmax(1).cpu().numpy()
        return probabilities[0] if self._single else probabilities

    def _advance(self, due: Tensor) -> None:
        """One step of the recurrent layer for those streams whose window has moved by a stride."""
        network = self._network
        z = self._window[due]
        if self._front is not None:
            z = torch.nn.functional.gelu(self._front.norm(self._front.convolution(z.mT).mT))
        first = network.layer.batch_first
        before: Any = None
        if self._states is not None:
            chosen = tuple(state[:, due] for state in self._states)
            before = chosen if self._tuple else chosen[0]
        dt = None if self._preparation.time_unit is None else self._step_sizes(due).unsqueeze(1 if first else 0)
        outputs, after = network.layer(z if first else z.transpose(0, 1), before, noise=False, dt=dt)
        self._tuple = isinstance(after, tuple)
        parts = after if isinstance(after, tuple) else (after,)
        if self._states is None:
            self._states = tuple(part.new_zeros(part.shape[0], self.streams, part.shape[2]) for part in parts)
        for state, part in zip(self._states, parts, strict=True):
            state[:, due] = part
        shown = network.norm(outputs[:, -1] if first else outputs[-1])
        self._sum[due] += shown
        self._largest[due] = torch.maximum(self._largest[due], shown)
        self._last[due] = shown
        self._count[due] += 1

    def _stamps(self, times: Any, index: Tensor) -> Tensor | None:
        """Time stamps (streams), checked before anything moves."""
        unit = self._preparation.time_unit
        if (times is None) != (unit is None):
            raise ValueError(
                "times were given, but not to fit: give them to both, or to neither."
                if unit is None
                else "This classifier was trained with times: push each sample with its time stamp, times=..."
            )
        if times is None:
            return None
        stamps = torch.as_tensor(np.asarray(times, dtype=np.float64)).reshape(-1)
        if len(stamps) != len(index) or not stamps.isfinite().all():
            raise ValueError(f"times must be {len(index)} finite number(s), one for each sample, got {times!r}.")
        if ((stamps <= self._time[index]) & (self._clock[index] > 0)).any():
            raise ValueError("times must increase: a sample is not later than the one before it in its stream.")
        return stamps

    def _pass_time(self, stamps: Tensor, index: Tensor) -> None:
        gaps = (stamps - self._time[index]) / self._preparation.time_unit
        gaps[self._clock[index] == 0] = 1.0  # as in a batch: before the first sample there is nothing
        self._elapsed[index] += torch.from_numpy(stable_gaps(gaps.numpy())).to(self._elapsed)
        self._time[index] = stamps

    def _step_sizes(self, due: Tensor) -> Tensor:
        """The layer's, (streams): the mean since its step before, as the front end gives them in a batch."""
        stride = 1 if self._front is None else self._front.stride
        begun = self._count[due] > 0
        sizes = self._elapsed[due] / torch.where(begun, stride, 1).to(self._elapsed) * self._step
        self._elapsed[due] = 0.0
        return sizes

    def _features(self, index: Tensor) -> Tensor:
        pooling = self._network.pooling
        if pooling is Pooling.LAST:
            return self._last[index]
        mean = self._sum[index] / self._count[index].unsqueeze(1).to(self._sum)
        return mean if pooling is Pooling.MEAN else torch.cat([mean, self._largest[index]], dim=1)

    def _index(self, streams: Sequence[int] | None) -> Tensor:
        if streams is None:
            return torch.arange(self.streams)
        index = torch.as_tensor(streams, dtype=torch.int64).reshape(-1)
        if (
            len(index) == 0
            or int(index.min()) < 0
            or int(index.max()) >= self.streams
            or len(index.unique()) < len(index)
        ):
            raise ValueError(f"streams must be different numbers from 0 to {self.streams - 1}, got {list(streams)}.")
        return index

    def _prepared(self, x: Any, count: int) -> Tensor:
        channels = len(self._preparation.mean)
        values = np.asarray(x, dtype=np.float64)
        shape = (channels,) if self._single else (count, channels)
        if values.size != count * channels or values.ndim > len(shape):
            raise ValueError(f"A sample has shape {shape}, one number for each channel; got {values.shape}.")
        values = values.reshape(count, channels)
        known = np.isfinite(values)
        mask = self._preparation.missing is Missing.MASK
        if np.isinf(values).any() or (not mask and not known.all()):
            raise ValueError("A sample must be finite; for gaps train with missing='mask' and push NaN.")
        if self._preparation.scaling is Scaling.CHANNEL:
            values = (values - np.array(self._preparation.mean)) / np.array(self._preparation.deviation)
        values = np.where(known, values, 0.0)
        parts = [values, known.astype(np.float64)] if mask else [values]
        return torch.from_numpy(np.concatenate(parts, axis=1)).to(self._weight)
