r"""The tanh family as the fast routes see it: f = A h + tanh(W h + u), and how noise of each kind enters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Cell, SDECell, Sequenced, States
from noisyrnn.rnn.eager import StepLaw, affine_loop, affine_scan
from noisyrnn.sde.activation import TANH
from noisyrnn.sde.brownian import Key
from noisyrnn.sde.diffusion import Coupling, DriftNoise, Silence, Strength
from noisyrnn.sde.drift import GatedDrift, TanhDrift
from noisyrnn.sde.pace import UniformFactor
from noisyrnn.sde.schemes import euler_maruyama
from noisyrnn.sde.steps import ConstantStep, LearnedStep


@dataclass(frozen=True)
class TanhFamily:
    """What the fast routes need of a cell: its drift, its step, and how noise of each kind enters."""

    cell: SDECell
    drift: TanhDrift | GatedDrift
    length: ConstantStep | LearnedStep | None
    additive: Strength | None = None
    multiplicative: Strength = 0.0
    released: bool = False

    def step(self, h: Tensor, dt: Tensor | None) -> Tensor:
        """The step sizes of a call: its own, or the cell's."""
        if dt is not None:
            return dt
        if self.length is None:
            raise ValueError("A step size that depends on the state needs the reference route; use Route.SCAN.")
        return self.length(h, lambda: h)

    @property
    def convention(self) -> native.Convention:
        """How the kernel names the noise."""
        if self.released:
            return native.Convention.RELEASED
        return native.Convention.NONE if self.additive is None else native.Convention.ITO


def tanh_family(cell: Cell, dt: Tensor | None) -> TanhFamily | None:
    """The cell as a member of the tanh family, or None where it is not one."""
    if not isinstance(cell, SDECell) or cell.substeps != 1:
        return None
    drift, diffusion, pace = cell.sde.drift, cell.sde.diffusion, cell.scheme.pace
    length = cell.length if isinstance(cell.length, ConstantStep | LearnedStep) else None
    # Exactly these: a subclass may have another equation.
    if not (type(drift) is TanhDrift or type(drift) is GatedDrift) or drift.activation != TANH:
        return None
    if length is None and dt is None:
        return None
    released = isinstance(pace, UniformFactor) and not cell.scheme.rooted
    if cell.scheme is not euler_maruyama and not released:
        return None
    factor = pace.multiplicative if released and isinstance(pace, UniformFactor) else 0.0
    if isinstance(diffusion, Silence):
        return TanhFamily(cell, drift, length, None, factor, released)
    if not isinstance(diffusion, DriftNoise) or isinstance(drift, GatedDrift):
        return None
    additive = diffusion.epsilon * diffusion.additive
    if released or diffusion.coupling is not Coupling.COUPLED:
        return TanhFamily(cell, drift, length, additive, factor, released)
    return TanhFamily(cell, drift, length, additive, diffusion.epsilon * diffusion.multiplicative)


def by_eager(
    family: TanhFamily, x: Tensor, states: States, key: Key | None, dt: Tensor | None, lengths: Tensor | None
) -> Sequenced | None:
    """The sequence in eager torch with gradients by hand, or None where that does not fit."""
    if isinstance(family.drift, GatedDrift):
        return None
    (h,), drift = states, family.drift
    law, step = _law(family, x, key, lengths), _over_time(family.step(h, dt), x.shape[0])
    if law.learned:
        outputs = affine_loop(drift.encode(x), h, drift.A, drift.W, step, law)
        return outputs, (outputs[-1],)
    outputs, last = affine_scan(drift.encode(x), h, drift.A, drift.W, step, law)
    return outputs, (last,)


def by_kernel(
    family: TanhFamily,
    x: Tensor,
    states: States,
    key: Key | None,
    dt: Tensor | None,
    lengths: Tensor | None,
    outputs: bool,
    chunk: int | None,
) -> Sequenced | None:
    """The sequence by the native kernel, or None where that does not fit."""
    if isinstance(family.additive, Tensor) or isinstance(family.multiplicative, Tensor):
        return None
    (h,), drift = states, family.drift
    gated = isinstance(drift, GatedDrift)

    def reference(
        sequence: Tensor, h: Tensor, A: Tensor | None, W: Tensor, U: Tensor | None, b: Tensor | None,
        gate: Tensor | None, dt: Tensor,
    ) -> Tensor:  # fmt: skip
        drive = sequence if U is None else functional.linear(sequence, U, b)
        return affine_loop(drive, h, A, W, _over_time(dt, x.shape[0]), _law(family, x, key, lengths), gate)

    content, gate = drift.encode(x).chunk(2, dim=-1) if gated else (x, None)
    noisy = key is not None and (family.additive is not None or family.multiplicative != 0)
    scanned = native.tanh_scan(
        content, h, None if isinstance(drift, GatedDrift) else drift.A, drift.W,
        None if gated else drift.U, None if gated else drift.b, family.step(h, dt),
        convention=family.convention if noisy else native.Convention.NONE,
        additive=float(family.additive or 0.0), multiplicative=float(family.multiplicative),
        key=key, gate=gate, lengths=lengths, chunk=chunk, states=outputs, reference=reference,
    )  # fmt: skip
    return scanned.states, (scanned.last,)


def _law(family: TanhFamily, x: Tensor, key: Key | None, lengths: Tensor | None) -> StepLaw:
    """How the steps of a sequence (time, batch, inputs) depend on their size and on the noise of a key."""
    steps, batch, _ = x.shape
    xi, chance = (None, None) if key is None else family.cell.path(key, batch, steps, x)
    valid = None
    if lengths is not None:
        valid = (torch.arange(steps, device=x.device).unsqueeze(-1) < lengths).unsqueeze(-1)
    return StepLaw(family.additive, family.multiplicative, family.released, xi, chance, valid)


def _over_time(value: Tensor, steps: int) -> Tensor:
    """A scalar, a vector over units, or (time, ...) as (time, 1 or batch, 1 or units)."""
    return (value if value.ndim == 3 else value.reshape(1, 1, -1)).expand(steps, -1, -1)
