r"""Cells: what happens to the hidden states when one input arrives.

A cell encodes a whole sequence at once (what depends on the input alone), steps from state to state, and shows part of
its states to the outside. :class:`SDECell` is the one of the paper: drift + diffusion + scheme + step size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from noisyrnn.rnn import native
from noisyrnn.sde.brownian import Key, draw, uniform
from noisyrnn.sde.diffusion import Diffusion
from noisyrnn.sde.drift import Drift
from noisyrnn.sde.schemes import Scheme, euler_maruyama
from noisyrnn.sde.steps import ConstantStep, Step
from noisyrnn.sde.system import SDE, Calculus

States = tuple[Tensor, ...]
"""Hidden states of one instant, (batch, units) each: one for most cells, (y, z) for coRNN."""

Sequenced = tuple[Tensor | None, States]
"""Outputs of a sequence (time, batch, units), None where they were not asked for, and its last states."""


class NoisePath(NamedTuple):
    """Random numbers of a whole sequence, time first: standard normal xi, and uniform ones where a cell needs them."""

    xi: Tensor | None
    chance: Tensor | None

    def at(self, step: int) -> tuple[Tensor | None, Tensor | None]:
        """Numbers of one step."""
        return (None if self.xi is None else self.xi[step], None if self.chance is None else self.chance[step])


class Cell(nn.Module, ABC):
    """One step of a recurrent network.

    An own cell needs ``step``; ``encode`` and ``built`` are for speed, ``observe`` for cells with several states.

    >>> class Leaky(Cell):
    ...     def step(self, states, u, dt, xi, chance):
    ...         return (0.9 * states[0] + 0.1 * u,)
    >>> from noisyrnn.rnn.scan import scan
    >>> cell = Leaky(inputs=1, units=1)
    >>> scan(cell, torch.ones(2, 1, 1), cell.start(1, torch.zeros(1)))[0].flatten()
    tensor([0.1000, 0.1900])
    """

    arity: int = 1
    """Number of hidden states."""
    noises: int = 0
    """Gaussian numbers that a noisy step takes."""
    chance: bool = False
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
    def noisy(self) -> bool:
        """Whether the cell has any noise to switch on."""
        return self.noises > 0 or self.chance

    def start(self, batch: int, like: Tensor) -> States:
        """Initial states: zeros."""
        return tuple(like.new_zeros(batch, self.units) for _ in range(self.arity))

    def encode(self, x: Tensor) -> Tensor:
        """Drive u of a whole input sequence."""
        return x

    def built(self, *, noisy: bool) -> Cell:
        """The same cell with its matrices built for one sequence, and with its noise on or off."""
        return self

    @abstractmethod
    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        """States after one input."""

    def observe(self, states: States) -> Tensor:
        """What the next layer or the readout sees."""
        return states[0]

    def by_kernel(
        self,
        x: Tensor,
        states: States,
        *,
        dt: Tensor | None,
        lengths: Tensor | None,
        outputs: bool,
        chunk: int | None,
    ) -> Sequenced | None:
        """A whole sequence by the native kernel, for cells that have one."""
        return None

    def path(self, key: Key, samples: int, steps: int, like: Tensor) -> NoisePath:
        """The noise of ``steps`` inputs for ``samples`` samples; ``like`` gives dtype and device."""
        fine = Key(value=key.value, stream=key.stream, sample=key.sample, step=key.step * self.substeps)
        many = steps * self.substeps
        # Low precision is drawn in single precision and rounded.
        kind = like.dtype if like.dtype in (torch.float32, torch.float64) else torch.float32
        normal, even = (native.gaussian, native.uniform) if native.available() else (draw, uniform)
        xi = normal(fine, samples, many, self.noises, dtype=kind).to(like) if self.noises else None
        chance = even(fine, samples, many, self.units, dtype=kind).to(like) if self.chance else None
        return NoisePath(xi, chance)


class SDECell(Cell):
    r"""dh = f dt + g dB, advanced by one scheme step of size dt (or several smaller ones) for each input.

    >>> from noisyrnn.sde import AdditiveNoise, TanhDrift
    >>> drift = TanhDrift(A=-torch.eye(3), W=torch.eye(3), U=torch.ones(3, 1), b=torch.zeros(3))
    >>> SDECell(drift, AdditiveNoise(0.1), dt=0.1).noises
    3

    Wrong combinations are refused here, with the remedy:

    >>> from noisyrnn.sde import DriftNoise, milstein
    >>> SDECell(drift, DriftNoise(multiplicative=0.1), scheme=milstein, dt=0.1)
    Traceback (most recent call last):
    ValueError: Scheme milstein is not right for COUPLED noise (DriftNoise): it handles SILENT, ADDITIVE, DIAGONAL,
    COMMON. Use euler_maruyama, which is right for any noise.
    """

    timed = True

    def __init__(
        self,
        drift: Drift,
        diffusion: Diffusion | None = None,
        *,
        dt: float | Step,
        scheme: Scheme = euler_maruyama,
        calculus: Calculus = Calculus.ITO,
        substeps: int = 1,
        inputs: int | None = None,
    ) -> None:
        # A drift that does not say how many inputs it takes is driven as it is, one input a unit.
        super().__init__(getattr(drift, "inputs", drift.units) if inputs is None else inputs, drift.units)
        if substeps < 1:
            raise ValueError(f"substeps must be at least 1, got {substeps}.")
        self.sde = SDE(drift, diffusion, calculus=calculus)
        self.length = dt if isinstance(dt, Step) else ConstantStep(dt)
        self.scheme = scheme
        self.substeps = substeps
        self.noises = self.sde.noises
        self.chance = scheme.chance
        scheme.check(self.sde, self.length)

    def encode(self, x: Tensor) -> Tensor:
        return self.sde.drift.encode(x)

    def built(self, *, noisy: bool) -> SDECell:
        system = self.sde.built()
        return SDECell(
            system.drift,
            system.diffusion if noisy else None,
            dt=self.length,
            scheme=self.scheme if noisy else self.scheme.quiet(),
            calculus=system.calculus,
            substeps=self.substeps,
            inputs=self.inputs,
        )

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, chance: Tensor | None) -> States:
        (h,) = states
        length = self.length(h, lambda: self.sde.drift(h, u)) if dt is None else dt
        if self.substeps > 1:
            length = length / self.substeps
        return (self.scheme(self.sde, h, u, length, xi, chance),)

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, units={self.units}, scheme={self.scheme.name}, substeps={self.substeps}"
