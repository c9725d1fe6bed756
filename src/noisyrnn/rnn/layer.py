r"""Layers called like ``torch.nn.RNN``: ``output, h_n = layer(x, h0)``.

Layers, directions and axes are those of torch: x is (time, batch, inputs), or (batch, time, inputs) with
``batch_first=True``, or (time, inputs) for one sequence; h_0 and h_n are (layers x directions, batch, units), a pair of
these for coRNN; of a stack, each layer sees the outputs of the one below.

Beyond torch: ``lengths`` or ``mask`` for sequences of unequal length (a PackedSequence works too), ``dt`` for irregular
sampling, and the noise: on in ``train()``, off in ``eval()``, forced by ``noise=True`` or ``False``. Each call takes a
64-bit key from ``generator`` (torch's global one by default); ``key`` gives it directly, with the first sample's index
for batches that are split and the first step's for sequences that are fed piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from noisyrnn.rnn.arguments import check_input, given_states
from noisyrnn.rnn.autocast import in_full_precision
from noisyrnn.rnn.cell import Call, Cell, States
from noisyrnn.rnn.gain import Gain, NoGain
from noisyrnn.rnn.irregular import step_sizes
from noisyrnn.rnn.lengths import checked_lengths, reversed_in_time, zero_beyond
from noisyrnn.rnn.routes import Route, run
from noisyrnn.rnn.tracing import traced
from noisyrnn.sde.brownian import Channel, Key, fresh_key, uniform
from noisyrnn.sde.steps import ConstantStep

Hidden = Tensor | tuple[Tensor, ...]


class Layer(nn.Module):
    """A stack of cells run over a sequence.

    Cells are given in torch's order: layer 0 forward, layer 0 backward (if bidirectional), layer 1 forward, and so on.

    >>> from noisyrnn.rnn import SDECell
    >>> from noisyrnn.sde import AdditiveNoise, Drift
    >>> class Pull(Drift):
    ...     def forward(self, h, u):
    ...         return u - h
    >>> layer = Layer(SDECell(Pull(units=2), AdditiveNoise(0.1), dt=0.5)).eval()
    >>> output, h_n = layer(torch.ones(3, 1, 2))
    >>> output[:, 0, 0]
    tensor([0.5000, 0.7500, 0.8750])
    """

    def __init__(
        self,
        cells: Cell | Sequence[Cell],
        *,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        self.cells = nn.ModuleList([cells] if isinstance(cells, Cell) else cells)
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self._check()

    def _check(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {self.dropout}.")
        count, directions = len(self.cells), self.directions
        if count == 0 or count % directions:
            raise ValueError(f"A layer needs at least one cell for each of its {directions} directions, got {count}.")
        for index in range(directions, count):
            wanted = directions * self._cell(index - directions).outputs
            if self._cell(index).inputs != wanted:
                raise ValueError(
                    f"Cell {index} takes {self._cell(index).inputs} inputs but the layer below gives {wanted}; "
                    "make them equal."
                )
        shapes = {(cell.widths, cell.outputs) for cell in self._all()}
        if len(shapes) > 1:
            raise ValueError("All cells of a layer must have the same number of units, of states and of outputs.")

    def _cell(self, index: int) -> Cell:
        cell = self.cells[index]
        assert isinstance(cell, Cell)
        return cell

    def _all(self) -> list[Cell]:
        return [self._cell(index) for index in range(len(self.cells))]

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def substeps(self) -> int:  # the most that a cell makes for one input
        return max(cell.substeps for cell in self._all())

    @property
    def num_layers(self) -> int:
        return len(self.cells) // self.directions

    @property
    def input_size(self) -> int:
        return self._cell(0).inputs

    @property
    def hidden_size(self) -> int:
        return self._cell(0).units

    @property
    def output_size(self) -> int:
        return self.directions * self._cell(0).outputs

    def gain(self) -> Gain:
        """How much larger than a change of the inputs that of the outputs can be; a cell that has none refuses.

        >>> import noisyrnn
        >>> round(noisyrnn.CertifiedRNN(1, 8, 2, gain=3.0, bidirectional=True).gain().total, 6)
        3.0
        """
        if type(self).forward is not Layer.forward:
            raise NoGain(f"{type(self).__name__} has a forward pass of its own, of which nobody has proved a gain.")
        gains = [cell.gain() for cell in self._all()]
        sides = [gains[i].beside(gains[i + 1]) for i in range(0, len(gains), 2)] if self.bidirectional else gains
        return reduce(lambda below, above: above.after(below), sides)

    def forward(
        self,
        x: Tensor | PackedSequence,
        h_0: Hidden | None = None,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        dt: float | Tensor | None = None,
        noise: bool | None = None,
        generator: torch.Generator | None = None,
        key: Key | None = None,
        route: Route | None = None,
        outputs: bool = True,
        chunk: int | None = None,
        mean: bool = False,
    ) -> tuple[Tensor | PackedSequence | None, Hidden]:
        """Outputs of the top layer, and the last states of all layers.

        Parameters
        ----------
        x
            Inputs (time, batch, inputs), (batch, time, inputs) with ``batch_first``, (time, inputs), or packed.
        h_0
            States to begin from, (layers x directions, batch, units); zeros by default.
        lengths, mask
            Valid steps of each sample, as numbers (batch) or as a boolean prefix (batch, time).
        dt
            Step sizes that replace a constant one: a number, one per step, or one per sample and step.
        noise
            Whether hidden noise is on; by default in ``train()`` and not in ``eval()``.
        generator, key
            Where the noise comes from: a generator that a new key is drawn from, or the key itself.
        route
            How the sequence is run, the fastest that fits by default; the numbers are the same to rounding.
        outputs
            False says that only the last states matter: outputs come back as None where leaving them out saves time
            or memory.
        chunk
            About the square root of the number of steps: trades one more forward pass of the native kernel for memory
            that grows with that square root.
        mean
            Give the mean of the outputs over the valid steps, (batch, outputs), in place of all of them.

        Returns
        -------
        output, h_n
            As ``torch.nn.RNN`` gives them; beyond a sequence's end outputs are zero, and h_n is its last valid state.
        """
        if isinstance(x, PackedSequence):
            if lengths is not None or mask is not None:
                raise ValueError("A PackedSequence carries its lengths; do not pass lengths or mask beside it.")
            given = {"dt": dt, "noise": noise, "generator": generator, "key": key, "route": route}
            return self._run_packed(x, h_0, **given, outputs=outputs, chunk=chunk, mean=mean)
        if x.device.type != "meta" and torch.is_autocast_enabled(x.device.type):
            given = {"dt": dt, "noise": noise, "generator": generator, "key": key, "route": route, "outputs": outputs}
            return in_full_precision(self, x, h_0, lengths=lengths, mask=mask, chunk=chunk, mean=mean, **given)
        check_input(x, self.input_size, next(self.parameters(), None), batch_first=self.batch_first)
        single = x.ndim == 2
        inside = x.unsqueeze(1) if single else x.transpose(0, 1) if self.batch_first else x
        steps, batch, _ = inside.shape
        counts = checked_lengths(lengths, mask, batch=batch, steps=steps, device=x.device)
        sizes = self._step_sizes(dt, batch, steps, x)
        states = self._states(h_0, batch, inside, single)
        noise_key = self._noise_key(noise, generator, key)
        dropout_key = (noise_key or key or fresh_key(generator, as_words=traced())) if self._drops() else None
        call = Call(key=noise_key, dt=sizes, lengths=counts, outputs=outputs or mean, chunk=chunk, mean=mean)
        output, last = self._run_stack(zero_beyond(inside, counts), states, call, dropout_key, route)
        if output is not None and mean:
            return output.squeeze(0).squeeze(0) if single else output.squeeze(0), _join(
                last, lambda state: state.squeeze(1) if single else state
            )
        if single:
            return None if output is None else output.squeeze(1), _join(last, lambda state: state.squeeze(1))
        if output is not None and self.batch_first:
            output = output.transpose(0, 1)
        return output, _join(last, lambda state: state)

    def last(self, h_n: Hidden) -> Tensor:
        """What the top layer shows of its last valid states, (batch, directions x units)."""
        parts = h_n if isinstance(h_n, tuple) else (h_n,)
        top = range(len(self.cells) - self.directions, len(self.cells))
        return torch.cat([self._cell(index).observe(tuple(part[index] for part in parts)) for index in top], dim=-1)

    def extra_repr(self) -> str:
        return f"axes={'(batch, time, inputs)' if self.batch_first else '(time, batch, inputs)'}"

    def _run_stack(
        self,
        x: Tensor,
        states: list[States],
        call: Call,
        dropout_key: Key | None,
        route: Route | None,
    ) -> tuple[Tensor | None, list[States]]:
        last: list[States] = []
        lengths = call.lengths
        for layer in range(self.num_layers):
            if layer and dropout_key is not None:
                x = self._dropout(x, dropout_key, layer)
            shown: list[Tensor] = []
            top = layer == self.num_layers - 1
            wanted = call.outputs or not top
            for direction in range(self.directions):
                index = layer * self.directions + direction
                cell = self._cell(index)
                key = call.key.at(layer=layer, direction=direction) if call.key and cell.noisy else None
                own, seen = call._replace(key=key, outputs=wanted, mean=call.mean and top), x
                if direction:
                    seen = reversed_in_time(x, lengths)
                    if call.dt is not None:
                        own = own._replace(dt=reversed_in_time(call.dt.expand(-1, x.shape[1], -1), lengths))
                output, end = run(cell, seen, states[index], own, route=route)
                last.append(end)
                if wanted and output is not None:
                    shown.append(reversed_in_time(output, lengths) if direction and not own.mean else output)
            if not wanted:
                return None, last
            x = shown[0] if len(shown) == 1 else torch.cat(shown, dim=-1)
        return x if call.mean else zero_beyond(x, lengths), last  # as torch pads

    def _run_packed(self, x: PackedSequence, h_0: Hidden | None, **call: Any) -> tuple[PackedSequence | None, Hidden]:
        padded, counts = pad_packed_sequence(x, batch_first=self.batch_first)
        output, h_n = self(padded, h_0, lengths=counts.to(padded.device), **call)
        if output is None or call["mean"]:
            return output, h_n
        in_order = x.sorted_indices is None
        return pack_padded_sequence(output, counts, batch_first=self.batch_first, enforce_sorted=in_order), h_n

    def _noise_key(self, noise: bool | None, generator: torch.Generator | None, key: Key | None) -> Key | None:
        wanted = self.training if noise is None else noise
        noisy = any(cell.noisy for cell in self._all())
        if noise and not noisy:
            raise ValueError(
                f"noise=True, but this {type(self).__name__} has none; build it with noise strengths above 0."
            )
        if key is not None and generator is not None:
            raise ValueError("Give a key or a generator, not both: a key fixes the noise, a generator draws a new key.")
        if not wanted or not noisy:
            return None
        return fresh_key(generator, as_words=traced()) if key is None else key

    def _drops(self) -> bool:
        return self.training and self.dropout > 0 and self.num_layers > 1

    def _dropout(self, x: Tensor, key: Key, layer: int) -> Tensor:
        steps, batch, units = x.shape
        uniforms = uniform(key.at(layer=layer), batch, steps, units, device=x.device, channel=Channel.DROPOUT)
        return x * (uniforms >= self.dropout) / (1 - self.dropout)

    def _step_sizes(self, dt: float | Tensor | None, batch: int, steps: int, like: Tensor) -> Tensor | None:
        if dt is None:
            return None
        for cell in self._all():
            if not cell.timed or not isinstance(getattr(cell, "step_size", None), ConstantStep):
                raise ValueError(
                    f"dt replaces a constant step size, which this {type(self).__name__} does not have; "
                    "build it with a fixed dt (learned_step=False), or leave dt out."
                )
        return step_sizes(dt, batch=batch, steps=steps, batch_first=self.batch_first, like=like)

    def _states(self, h_0: Hidden | None, batch: int, like: Tensor, single: bool) -> list[States]:
        if h_0 is None:
            return [cell.start(batch, like) for cell in self._all()]
        return given_states(h_0, self._cell(0).widths, len(self.cells), None if single else batch)


def _join(states: list[States], shaped: Callable[[Tensor], Tensor]) -> Hidden:
    parts = tuple(shaped(torch.stack(part)) for part in zip(*states, strict=True))
    return parts[0] if len(parts) == 1 else parts
