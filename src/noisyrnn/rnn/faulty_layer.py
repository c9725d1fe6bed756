"""Layers and classifiers on bad hardware: ``faulty(network, fault, generator)`` is called as the network itself is.

A state fault acts once for each input, after the cell's own step (and all of its substeps), on every state that the
cell keeps: h and c of an LSTM, y and z of coRNN. Its numbers follow the noise contract (``sde.brownian``): a call takes
a key, or draws one from its generator, and each sample has its own, however a batch is split. The network's own noise
is off: faults are for networks in use.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from noisyrnn.rnn.cell import Cell, NoisePath, States
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.state_faults import HardwareFault, Scale, StateFault, WeightFault
from noisyrnn.sde.brownian import Key, fresh_key

_N = TypeVar("_N", bound=nn.Module)
CALIBRATION = 256
"""Samples from which the sizes of states are taken."""


def faulty(network: _N, fault: HardwareFault, generator: torch.Generator | None = None, *, x: Tensor) -> _N:
    """The network with a fault of hardware in it: a copy in evaluation mode, called as the network is.

    Parameters
    ----------
    network
        A layer of this library, or a classifier with one; torch's RNN, LSTM and GRU as ``ClassicRNN``.
    fault
        What is wrong: a state fault, which meets every state after every input, or a weight fault.
    generator
        Chooses the units that are stuck and draws the noise of weights, once; what is drawn anew for each input comes
        from the ``generator`` or the ``key`` of the call. torch's global one by default.
    x
        Clean inputs, as the network takes them, of which the first 256 samples show how large its states are.

    Examples
    --------
    >>> import noisyrnn
    >>> from noisyrnn.rnn import StateRounding, WeightNoise
    >>> layer, x = noisyrnn.LipschitzRNN(1, 4, dt=0.1, batch_first=True), torch.randn(8, 20, 1)
    >>> output, h_n = faulty(layer, StateRounding(bits=4), x=x)(x)
    >>> len(output.unique()) <= 15
    True
    >>> network = noisyrnn.Classifier(noisyrnn.ClassicRNN(1, 4), classes=2)
    >>> faulty(network, WeightNoise(sigma=0.1), torch.Generator().manual_seed(0), x=x)(x).shape
    torch.Size([8, 2])
    """
    if not isinstance(network, Classifier | Layer) and not hasattr(network, "stepwise"):
        raise ValueError(
            f"A fault of hardware goes into a layer or a classifier of this library, got {type(network).__name__}; "
            "give a layer that steps through cells, or rebuild the network from them."
        )
    chance = fresh_key(generator)
    if isinstance(fault, WeightFault):
        return _with_spoilt_weights(network, fault, torch.Generator().manual_seed(chance.number() >> 1))
    if not isinstance(fault, StateFault):
        raise ValueError(f"A fault of hardware is a state fault or a weight fault, got {type(fault).__name__}.")
    worn: Any = copy.deepcopy(network).eval()
    sizes = _sizes(worn, x)
    if not isinstance(worn, Classifier):
        return FaultyLayer(_stepped(worn), fault, chance, sizes)  # type: ignore[return-value]
    worn.layer = FaultyLayer(_stepped(worn.layer), fault, chance, sizes)
    return worn  # type: ignore[return-value]


class FaultyLayer(Layer):
    """A layer whose states are disturbed after every input; made by :func:`faulty`."""

    def __init__(self, layer: Layer, fault: StateFault, chance: Key, sizes: list[tuple[Scale, ...]]) -> None:
        cells = [
            _FaultyCell(cell, fault, size, _hit(cell, fault, chance.at(layer=index)))
            for index, (cell, size) in enumerate(zip(_cells(layer), sizes, strict=True))
        ]
        super().__init__(cells, batch_first=layer.batch_first, bidirectional=layer.bidirectional)
        self.eval()

    def forward(self, *inputs: Any, noise: bool | None = None, **call: Any) -> Any:
        """As the layer's own call; ``generator`` or ``key`` draw the fault."""
        if noise:
            raise ValueError("A network with a fault of hardware runs without its own noise; leave noise=True out.")
        drawn = any(cell.noisy for cell in _cells(self))
        return super().forward(*inputs, noise=drawn, **call)


class _FaultyCell(Cell):
    """A cell and what happens to its states after each of its inputs."""

    hit: Tensor

    def __init__(self, cell: Cell, fault: StateFault, sizes: tuple[Scale, ...], hit: Tensor) -> None:
        super().__init__(cell.inputs, cell.units)
        self.cell, self.fault, self.sizes = cell, fault, sizes
        self.arity, self.timed = cell.arity, cell.timed
        self.register_buffer("hit", hit)
        self.noises = cell.arity * cell.units if fault.normal else 0
        self.takes_uniforms = fault.even

    @property
    def step_size(self) -> Any:
        return getattr(self.cell, "step_size", None)

    def encode(self, x: Tensor) -> Tensor:
        return self.cell.encode(x)

    def observe(self, states: States) -> Tensor:
        return self.cell.observe(states)

    def start(self, batch: int, like: Tensor) -> States:
        return self.cell.start(batch, like)

    def built(self, *, noisy: bool) -> Cell:
        return _FaultyCell(self.cell.built(noisy=False), self.fault, self.sizes, self.hit)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        for _ in range(self.cell.substeps):
            states = self.cell.step(states, u, dt, None, None)
        normal, even = self._shares(xi), self._shares(uniforms)
        return tuple(
            self.fault.disturbed(state, size, mine, own, self.hit)
            for state, size, mine, own in zip(states, self.sizes, normal, even, strict=True)
        )

    def path(self, key: Key, samples: int, steps: int, like: Tensor) -> NoisePath:
        # Every state has numbers of its own, so there are as many as all states together have units.
        wide = _Numbers(1, self.arity * self.units)
        wide.noises, wide.takes_uniforms = self.noises, self.takes_uniforms
        return wide.path(key, samples, steps, like)

    def _shares(self, numbers: Tensor | None) -> tuple[Tensor | None, ...]:
        return (None,) * self.arity if numbers is None else numbers.chunk(self.arity, dim=-1)


class _Numbers(Cell):
    """As many random numbers as units."""

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        return states


class _Gauge(_FaultyCell):
    """A cell that nothing happens to, and that notes how large its states become."""

    def __init__(self, cell: Cell) -> None:
        Cell.__init__(self, cell.inputs, cell.units)
        self.cell, self.arity, self.timed = cell, cell.arity, cell.timed
        self.squares = [0.0] * cell.arity
        self.largest = [0.0] * cell.arity
        self.count = 0

    def built(self, *, noisy: bool) -> Cell:
        self.cell = self.cell.built(noisy=False)
        return self

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        for _ in range(self.cell.substeps):
            states = self.cell.step(states, u, dt, None, None)
        for index, state in enumerate(states):
            self.squares[index] += float(state.double().square().sum())
            self.largest[index] = max(self.largest[index], float(state.abs().max()))
        self.count += states[0].numel()
        return states

    def measured(self) -> tuple[Scale, ...]:
        count = max(self.count, 1)
        pairs = zip(self.squares, self.largest, strict=True)
        return tuple(Scale(rms=(square / count) ** 0.5, largest=largest) for square, largest in pairs)


def _sizes(network: Any, x: Tensor) -> list[tuple[Scale, ...]]:
    """Sizes of all states of all cells on the first samples."""
    layer = _stepped(network.layer if isinstance(network, Classifier) else network)
    gauges = [_Gauge(cell) for cell in _cells(layer)]
    gauged = Layer(gauges, batch_first=layer.batch_first, bidirectional=layer.bidirectional)
    first = isinstance(network, Classifier) or layer.batch_first
    with torch.no_grad():
        if isinstance(network, Classifier):
            shown = copy.copy(network)
            shown._modules = {**network._modules, "layer": gauged}
            shown(x[:CALIBRATION])
        else:
            gauged(x[:CALIBRATION] if first or x.ndim == 2 else x[:, :CALIBRATION])
    return [gauge.measured() for gauge in gauges]


def _stepped(layer: Any) -> Layer:
    return layer if isinstance(layer, Layer) else layer.stepwise()


def _cells(layer: Layer) -> list[Cell]:
    return [cell for cell in layer.cells if isinstance(cell, Cell)]


def _hit(cell: Cell, fault: StateFault, key: Key) -> Tensor:
    drawn = torch.rand(cell.units, generator=torch.Generator().manual_seed((key.number() ^ key.stream) >> 1))
    return drawn < fault.units


def _with_spoilt_weights(network: Any, fault: WeightFault, generator: torch.Generator) -> Any:
    """A copy in which every matrix is spoilt: those that a cell builds as they are built, all others as they are."""
    worn = copy.deepcopy(network).eval()
    layer = worn.layer if isinstance(worn, Classifier) else worn
    with torch.no_grad():
        if isinstance(layer, Layer):
            # Copied, because a cell may build itself and share what it has with the network that was given.
            layer.cells = nn.ModuleList([copy.deepcopy(cell.built(noisy=False)) for cell in _cells(layer)])
        for holder, name, matrix in list(_matrices(worn)):
            spoilt = fault.spoilt(matrix, generator)
            _put(holder, name, nn.Parameter(spoilt) if isinstance(matrix, nn.Parameter) else spoilt)
    return worn


def _matrices(network: nn.Module) -> Iterator[tuple[nn.Module, str | tuple[str, int], Tensor]]:
    """Where a network keeps its matrices: as parameters, buffers, plain tensors, or several in a tuple."""
    for module in network.modules():
        kept = {**vars(module), **module._parameters, **module._buffers}
        for name, value in kept.items():
            if isinstance(value, Tensor) and value.ndim >= 2 and value.is_floating_point():
                yield module, name, value
            elif isinstance(value, tuple):
                for place, part in enumerate(value):
                    if isinstance(part, Tensor) and part.ndim >= 2 and part.is_floating_point():
                        yield module, (name, place), part


def _put(holder: nn.Module, name: str | tuple[str, int], matrix: Tensor) -> None:
    if isinstance(name, str):
        setattr(holder, name, matrix)
        return
    several = list(getattr(holder, name[0]))
    several[name[1]] = matrix
    setattr(holder, name[0], tuple(several))
