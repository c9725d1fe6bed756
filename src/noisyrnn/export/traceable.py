"""Networks in a form that an exporter can follow: one scan node a direction, matrices built once, noise off.

The recurrence is the reference's (``rnn.reference.scan``), written with torch's ``scan`` so that the number of steps
stays open; torch keeps that operator under a private name still, which is why only this module knows it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn.estimator.companion import Companion
from noisyrnn.models import ClassicRNN
from noisyrnn.rnn.cell import Cell
from noisyrnn.rnn.fronted import FrontedClassifier
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.pooling import Pooling


def _scanned(cell: Cell, drive: Tensor, valid: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Outputs (time, batch, units) and last states; a state is held where a step is not valid."""
    from torch._higher_order_ops.scan import scan

    def step(before: tuple[Tensor, ...], given: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, ...], Tensor]:
        u, inside = given
        after = before
        for _ in range(cell.substeps):
            after = cell.step(after, u, None, None, None)
        # A product, not a choice: the state of a step that does not count must be finite, and it is.
        held = tuple(old + inside * (new - old) for old, new in zip(before, after, strict=True))
        return held, (inside * cell.observe(held)).clone()

    last, outputs = scan(step, states, (drive, valid))
    return outputs, tuple(last)


def _flipped(x: Tensor, counts: Tensor) -> Tensor:
    """x (time, batch, ...) backwards, each sample within its own length."""
    time = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    index = torch.where(time < counts, counts - 1 - time, time)
    return x.gather(0, index.unsqueeze(-1).expand(-1, -1, x.shape[2]))


class Traceable(nn.Module):
    """(x (batch, time, channels), lengths (batch)) -> probabilities, for series as the classifier takes them.

    Scaling is inside: x counts in natural units.
    """

    def __init__(
        self, network: FrontedClassifier, mean: Any, deviation: Any, companion: Companion | None = None
    ) -> None:
        super().__init__()
        refuse_unexportable(network)
        self.front_end, self.companion = network.front_end, companion
        self.norm, self.pooling, self.readout = network.norm, network.pooling, network.readout
        with torch.no_grad():
            self.cells: Any = nn.ModuleList([_Baked(cell) for cell in network.layer.cells])
        self.directions = network.layer.directions
        self.mean = nn.Buffer(torch.tensor(mean, dtype=torch.float32))
        self.deviation = nn.Buffer(torch.tensor(deviation, dtype=torch.float32))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        inside = (torch.arange(x.shape[1]) < lengths.unsqueeze(1)).unsqueeze(-1).to(x.dtype)
        scaled = (x - self.mean) / self.deviation * inside
        found = self._by_network(scaled, lengths)
        return found if self.companion is None else (found + self.companion(scaled, lengths).softmax(-1)) / 2

    def _by_network(self, z: Tensor, lengths: Tensor) -> Tensor:
        counts = lengths
        if self.front_end is not None:
            z, counts = self._front(z, lengths)
        z = z.transpose(0, 1)
        valid = (torch.arange(z.shape[0]).unsqueeze(1) < counts).unsqueeze(-1).to(z.dtype)
        last: list[Tensor] = []
        for first in range(0, len(self.cells), self.directions):
            shown, last = [], []
            for direction in range(self.directions):
                cell = self.cells[first + direction]
                seen = _flipped(z, counts) if direction else z
                start = tuple(z[0, :, :1].expand(-1, cell.units) * 0.0 for _ in range(cell.arity))
                outputs, end = _scanned(cell, cell.encode(seen), valid, start)
                last.append(cell.observe(end))
                shown.append(_flipped(outputs, counts) if direction else outputs)
            z = torch.cat(shown, dim=-1)
        if self.pooling is Pooling.LAST:
            return self.readout(self.norm(torch.cat(last, dim=-1))).softmax(-1)
        outputs = self.norm(z)
        features = (outputs * valid).sum(0) / counts.unsqueeze(1)
        if self.pooling is Pooling.MEAN_MAX:
            largest = torch.where(valid > 0, outputs, torch.full_like(outputs, -1e30)).amax(0)
            features = torch.cat([features, largest], dim=-1)
        return self.readout(features).softmax(-1)

    def _front(self, z: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        front = self.front_end
        assert front is not None
        left = front.width - 1 if front.causal else front.width // 2
        z = front.convolution(nn.functional.pad(z.mT, (left, front.width - 1 - left)))
        counts = (lengths + front.stride - 1) // front.stride
        if front.causal:
            z = front.norm(z.mT)
        else:
            z = front._norm_within(z, counts).mT
        valid = (torch.arange(z.shape[1]) < counts.unsqueeze(1)).unsqueeze(-1).to(z.dtype)
        return nn.functional.gelu(z) * valid, counts


class OneStep(nn.Module):
    """One step of a stream: (window, states, sum, largest, count) -> (probabilities, and the same again).

    The window holds the last samples (batch, width, channels) in natural units, the new one last, and 0 after scaling
    before a stream's first (that is, the mean). To be called at every ``stride``-th sample, beginning with the first.
    """

    def __init__(self, network: FrontedClassifier, mean: Any, deviation: Any) -> None:
        super().__init__()
        refuse_unexportable(network)
        if not network.causal:
            raise ValueError("This classifier looks ahead and has no step by itself: train it with causal=True.")
        self.front_end = network.front_end
        self.norm, self.pooling, self.readout = network.norm, network.pooling, network.readout
        with torch.no_grad():
            self.cells: Any = nn.ModuleList([_Baked(cell) for cell in network.layer.cells])
        self.mean = nn.Buffer(torch.tensor(mean, dtype=torch.float32))
        self.deviation = nn.Buffer(torch.tensor(deviation, dtype=torch.float32))

    def forward(
        self, window: Tensor, states: Tensor, total: Tensor, largest: Tensor, count: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """States are (batch, layers x arity, units); total and largest (batch, units); count (batch, 1)."""
        z = (window - self.mean) / self.deviation
        if self.front_end is not None:
            z = nn.functional.gelu(self.front_end.norm(self.front_end.convolution(z.mT).mT))
        z = z[:, 0] if self.front_end is not None else z[:, -1]
        after: list[Tensor] = []
        for number, cell in enumerate(self.cells):
            first = number * cell.arity
            now = tuple(states[:, first + part] for part in range(cell.arity))
            u = cell.encode(z.unsqueeze(0))[0]
            for _ in range(cell.substeps):
                now = cell.step(now, u, None, None, None)
            after += now
            z = cell.observe(now)
        shown = self.norm(z)
        total, largest, count = total + shown, torch.maximum(largest, shown), count + 1.0
        features = shown if self.pooling is Pooling.LAST else total / count
        if self.pooling is Pooling.MEAN_MAX:
            features = torch.cat([features, largest], dim=-1)
        return self.readout(features).softmax(-1), torch.stack(after, dim=1), total, largest, count


def refuse_unexportable(network: FrontedClassifier) -> None:
    """Nothing, if the network is made of this library's cells."""
    if isinstance(network.layer, ClassicRNN) or not isinstance(network.layer, Layer):
        raise ValueError(
            f"Layers of type {type(network.layer).__name__} are not exported here: use a model of this library, or "
            "torch.onnx.export for torch's own."
        )


class _Baked(Cell):
    """A cell whose matrices are buffers: nothing is built again at a step."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell.inputs, cell.units)
        self.inner = cell.built(noisy=False)
        # Matrices that are parts of one, as coRNN's are, must not share its memory: the exporter refuses that.
        apart = {name: one.detach().clone() for name, one in vars(self.inner).items() if isinstance(one, Tensor)}
        vars(self.inner).update(apart)
        self.arity, self.substeps = cell.arity, cell.substeps

    def encode(self, x: Tensor) -> Tensor:
        return self.inner.encode(x)

    def step(self, states: Any, u: Tensor, dt: Any, xi: Any, uniforms: Any) -> Any:
        return self.inner.step(states, u, dt, xi, uniforms)

    def observe(self, states: Any) -> Tensor:
        return self.inner.observe(states)
