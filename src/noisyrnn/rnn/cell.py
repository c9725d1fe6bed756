r"""Cells: what happens to the hidden states when one input arrives.

A cell encodes a whole sequence at once (what depends on the input alone), steps from state to state, and shows part of
its states to the outside. :class:`~noisyrnn.rnn.sde_cell.SDECell` is the one of the paper. The loop over the steps is
not the cell's: ``rnn.reference`` has it, and defines what is correct; a layer (``rnn.layer``) calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from noisyrnn.rnn import native
from noisyrnn.rnn.gain import Gain, NoGain, Rounded
from noisyrnn.rnn.tracing import traced
from noisyrnn.sde.brownian import Key, draw, uniform

States = tuple[Tensor, ...]
"""Hidden states of one instant, (batch, width) each: one for most cells; (y, z), position and velocity, for coRNN's."""

Sequenced = tuple[Tensor | None, States]
"""Outputs of a sequence (time, batch, outputs), None where they were not asked for, and its last states."""


class NoisePath(NamedTuple):
    """Random numbers of a whole sequence, time first: standard normal xi, and uniform ones where a cell needs them."""

    xi: Tensor | None
    uniforms: Tensor | None

    def at(self, step: int) -> tuple[Tensor | None, Tensor | None]:
        """Numbers of one step."""
        return (None if self.xi is None else self.xi[step], None if self.uniforms is None else self.uniforms[step])


class Call(NamedTuple):
    """What is asked of one run over a sequence (time, batch, inputs).

    Noise is on where a ``key`` is given. ``dt`` is (time, 1 or batch, 1) and replaces the cell's own step size. Beyond
    its length a sample's state is held. ``outputs=False`` says that only the last states matter, ``mean=True`` that of
    the outputs only their mean over the valid steps does: it comes as a sequence of one step. With ``chunk`` the
    kernel keeps every chunk-th state only and computes the rest again in its backward pass.
    """

    key: Key | None = None
    dt: Tensor | None = None
    lengths: Tensor | None = None
    outputs: bool = True
    chunk: int | None = None
    mean: bool = False


class FastPath(ABC):
    """A whole sequence at once, with the numbers of the reference loop to rounding."""

    @abstractmethod
    def by_kernel(self, x: Tensor, states: States, call: Call) -> Sequenced | None:
        """The sequence by the native kernel, their mean in place of outputs where asked; None where it does not fit."""

    def by_eager(self, x: Tensor, states: States, call: Call) -> Sequenced | None:
        """The sequence in eager torch with gradients by hand, or None where that does not fit."""
        return None

    def stepper(self, batch: int, like: Tensor, key: Key | None) -> native.TanhStep | None:
        """One step after the other by the native kernel, without gradients, or None where that does not fit."""
        return None


class Cell(nn.Module, ABC):
    """One step of a recurrent network.

    An own cell needs ``step``; ``encode``, ``built`` and ``fast_path`` are for speed, ``observe``, ``widths`` and
    ``outputs`` for states and outputs that are not one and the same, ``gain`` for those who prove things.

    >>> class Leaky(Cell):
    ...     def step(self, states, u, dt, xi, uniforms):
    ...         return (0.9 * states[0] + 0.1 * u,)
    >>> from noisyrnn.rnn.reference import scan
    >>> cell = Leaky(inputs=1, units=1)
    >>> scan(cell, torch.ones(2, 1, 1), cell.start(1, torch.zeros(1)))[0].flatten()
    tensor([0.1000, 0.1900])
    """

    arity: int = 1
    """Number of hidden states."""
    noises: int = 0
    """Gaussian numbers that a noisy step takes."""
    takes_uniforms: bool = False
    """Whether a noisy step also takes a uniform number for each unit."""
    timed: bool = False
    """Whether steps have a size that a call may replace."""
    substeps: int = 1

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        if min(inputs, units) < 1:
            raise ValueError(f"A cell needs at least 1 input and 1 unit, got inputs={inputs}, units={units}.")
        self.inputs = inputs
        self.units = units

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers in each hidden state."""
        return (self.units,) * self.arity

    @property
    def outputs(self) -> int:
        """Numbers that it shows to the outside."""
        return self.units

    def gain(self) -> Gain:
        """How much larger than a change of the inputs that of the outputs can be; refused where nobody has proved it.

        >>> import noisyrnn
        >>> noisyrnn.LipschitzRNN(1, 4).cells[0].gain()
        Traceback (most recent call last):
        noisyrnn.rnn.gain.NoGain: SDECell has no gain that holds for every input and weight...
        """
        raise NoGain(
            f"{type(self).__name__} has no gain that holds for every input and weight; use CertifiedRNN, which has one "
            "by construction."
        )

    def rounding(self, x: Tensor, lengths: Tensor | None) -> Rounded:
        """Outputs for x from the start, without noise, and bounds of what rounding adds to them."""
        self.gain()  # says why, where there is none
        raise NoGain(f"The rounding of {type(self).__name__} is not bounded here; use CertifiedRNN.")

    @property
    def noisy(self) -> bool:
        """Whether the cell has any noise to switch on."""
        return self.noises > 0 or self.takes_uniforms

    def start(self, batch: int, like: Tensor) -> States:
        """Initial states: zeros."""
        return tuple(like.new_zeros(batch, width) for width in self.widths)

    def encode(self, x: Tensor) -> Tensor:
        """Drive u of a whole input sequence."""
        return x

    def built(self, *, noisy: bool) -> Cell:
        """The same cell with its matrices built for one sequence, and with its noise on or off."""
        return self

    @abstractmethod
    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        """States after one input."""

    def observe(self, states: States) -> Tensor:
        """What the next layer sees, or the readout, which makes scores of classes from the last state."""
        return states[0]

    def fast_path(self, dt: Tensor | None) -> FastPath | None:
        """The cell's own way through a whole sequence, if it has one for the step sizes of this call."""
        return None

    def path(self, key: Key, samples: int, steps: int, like: Tensor) -> NoisePath:
        """The noise of ``steps`` inputs for ``samples`` samples; ``like`` gives dtype and device."""
        fine = Key(value=key.value, stream=key.stream, sample=key.sample, step=key.step * self.substeps)
        many = steps * self.substeps
        # Low precision is drawn in single precision and rounded.
        kind = like.dtype if like.dtype in (torch.float32, torch.float64) else torch.float32
        if native.available() and like.device.type == "cpu" and not traced():
            normal, even = partial(native.gaussian, dtype=kind), partial(native.uniform, dtype=kind)
        else:
            normal, even = (partial(law, dtype=kind, device=like.device) for law in (draw, uniform))
        xi = normal(fine, samples, many, self.noises).to(like) if self.noises else None
        uniforms = even(fine, samples, many, self.units).to(like) if self.takes_uniforms else None
        return NoisePath(xi, uniforms)
