"""The cell of the certified RNN: [z'; y] = phi(K [z; g u] + b), with K a part of an orthogonal matrix."""

from __future__ import annotations

import math
from enum import StrEnum

import torch
from torch import Tensor, nn

from noisyrnn.models.choice import refuse_other
from noisyrnn.models.matrices import Orthogonal, Parametrisation, slow_start
from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Call, Cell, FastPath, Sequenced, States
from noisyrnn.rnn.gain import Gain, NoGain, Rounded
from noisyrnn.rnn.lengths import zero_beyond
from noisyrnn.rnn.native.maxmin import maxmin
from noisyrnn.rnn.pooling import shown
from noisyrnn.rnn.reference import scan_built


class Contraction(StrEnum):
    """Maps of vectors that are 1-Lipschitz in l2."""

    MAXMIN = "maxmin"
    RELU = "relu"
    ABSOLUTE = "absolute"
    TANH = "tanh"
    IDENTITY = "identity"


_MAPS = {
    Contraction.MAXMIN: maxmin,
    Contraction.RELU: torch.relu,
    Contraction.ABSOLUTE: torch.abs,
    Contraction.TANH: torch.tanh,
    Contraction.IDENTITY: lambda v: v,
}


class CertifiedCell(Cell):
    """[z'; y] = phi(K [z; g u] + b): ``units`` states beside ``shown`` outputs, and a gain for each input channel."""

    arity = 2

    def __init__(
        self,
        inputs: int,
        units: int,
        shown: int,
        *,
        gains: tuple[float, ...],
        activation: Contraction,
        parametrisation: Parametrisation,
        rebase: int | None,
        polish: int,
        additive: float,
        memory: float | None,
    ) -> None:
        super().__init__(inputs, units)
        refuse_other("activation", activation, Contraction)
        rows = units + shown
        if shown < 1 or (rows % 2 and activation is Contraction.MAXMIN):
            raise ValueError(
                f"maxmin sorts pairs: states and outputs together must be an even number, got {units} and {shown}; "
                "make one of them larger by 1."
            )
        if len(gains) != inputs or not all(0 < one < math.inf for one in gains):
            raise ValueError(f"gain must be above 0 and finite, one number or one for each of the {inputs} inputs.")
        if not 0 <= additive < math.inf:
            raise ValueError(f"additive noise must have a strength of at least 0, got {additive}.")
        if memory is not None and not 2 <= memory < math.inf:
            raise ValueError(f"memory must be at least 2 steps, or None for a random start, got {memory}.")
        self.shown, self.gains, self.activation, self.additive = shown, gains, activation, additive
        self.noises = rows if additive > 0 else 0
        size = max(rows, units + inputs)
        if memory is None:
            base, _ = torch.linalg.qr(torch.randn(size, size))
        else:
            base = slow_start(units, size, memory)
        self.orthogonal = Orthogonal(size, parametrisation, rebase=rebase, polish=polish, base=base)
        self.b = nn.Parameter(torch.zeros(rows))

    @property
    def widths(self) -> tuple[int, ...]:
        return self.units, self.shown

    @property
    def outputs(self) -> int:
        return self.shown

    def matrix(self) -> Tensor:
        """K, (states + outputs, states + inputs): orthonormal columns, or rows where there are fewer of them."""
        return self.orthogonal(columns=self.units + self.inputs)[: self.units + self.shown]

    def built(self, *, noisy: bool) -> BuiltCertifiedCell:
        K = self.matrix()
        U = K[:, self.units :] * K.new_tensor(self.gains)
        return BuiltCertifiedCell(self, K[:, : self.units], U, self.b, self.additive if noisy else 0.0)

    def encode(self, x: Tensor) -> Tensor:
        return self.built(noisy=False).encode(x)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        return self.built(noisy=xi is not None).step(states, u, dt, xi, uniforms)

    def observe(self, states: States) -> Tensor:
        return states[1]

    @torch.no_grad()
    def gain(self) -> Gain:
        if type(self) is not CertifiedCell:
            raise NoGain(f"{type(self).__name__} is a cell of its own, of which nobody has proved a gain.")
        K = self.matrix().double()
        if not bool(K.isfinite().all() & self.b.isfinite().all()):
            raise NoGain("This network's weights are not finite, so that nothing can be said of it; train it again.")
        # What the singular values themselves may be wrong by.
        slack = 1 + 8 * max(K.shape) * torch.finfo(torch.float64).eps
        growth = max(1.0, float(torch.linalg.matrix_norm(K, 2)) * slack)
        return Gain(channels=torch.tensor(self.gains, dtype=torch.float64), growth=growth)

    @torch.no_grad()
    def rounding(self, x: Tensor, lengths: Tensor | None) -> Rounded:
        # A step errs by at most (terms of a sum) roundoffs of (|K| |inputs of the step| + |b|).
        gain, start = self.gain(), self.start(x.shape[1], x)
        z, y = self.built(noisy=False).trajectory(x, start, lengths)
        before = torch.cat((start[0].unsqueeze(0), z))[: len(x)]
        seen = x * x.new_tensor(self.gains)
        size = (before.double().square().sum(-1) + seen.double().square().sum(-1)).sqrt()
        terms, norm = self.units + self.inputs + 8, float(torch.linalg.matrix_norm(self.matrix().double()))
        unit = terms * torch.finfo(x.dtype).eps
        error = unit * (norm * size + float(self.b.double().norm()))
        return Rounded(gain, y, zero_beyond(error, lengths).sum(0), unit * norm)

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, states={self.units}, outputs={self.shown}, activation={self.activation}"


class BuiltCertifiedCell(Cell, FastPath):
    """The cell with K built, as the part that states meet and the part that inputs meet, gains included."""

    arity = 2

    def __init__(
        self, cell: CertifiedCell | BuiltCertifiedCell, K: Tensor, U: Tensor | None, b: Tensor | None, additive: float
    ) -> None:
        super().__init__(cell.inputs, cell.units)
        # Plain tensors, not this module's own parameters.
        self.tensors = (K, U, b)
        self.shown: int = cell.shown
        self.activation: Contraction = cell.activation
        self.additive, self.noises = additive, cell.noises

    @property
    def widths(self) -> tuple[int, ...]:
        return self.units, self.shown

    @property
    def outputs(self) -> int:
        return self.shown

    def encode(self, x: Tensor) -> Tensor:
        _, U, b = self.tensors
        return x if U is None else nn.functional.linear(x, U, b)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        v = states[0] @ self.tensors[0].mT + u
        if xi is not None and self.additive:
            v = v + self.additive * xi
        w = _MAPS[self.activation](v)
        return w[..., : self.units], w[..., self.units :]

    def observe(self, states: States) -> Tensor:
        return states[1]

    def trajectory(self, x: Tensor, states: States, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        """States z and outputs y after each step."""
        if native.available() and x.device.type == "cpu" and self.activation is Contraction.MAXMIN and len(x):
            (z, y), (K, U, b) = states, self.tensors
            scanned = native.maxmin_scan(x, z, y, K, U, b, lengths=lengths, states=True)
            assert scanned.states is not None
            assert scanned.outputs is not None
            return scanned.states, scanned.outputs
        rows, _ = scan_built(_Rows(self), x, states, lengths=lengths)
        return rows[..., : self.units], rows[..., self.units :]

    def fast_path(self, dt: Tensor | None) -> FastPath | None:
        return self if self.activation is Contraction.MAXMIN else None

    def by_kernel(self, x: Tensor, states: States, call: Call) -> Sequenced | None:
        if call.chunk is not None:
            return None
        (z, y), (K, U, b) = states, self.tensors
        sequence = zero_beyond(x, call.lengths)
        if call.key is not None and self.additive:
            # The noise comes with the drive, because the kernel makes none here.
            xi = self.path(call.key, x.shape[1], x.shape[0], x).xi
            assert xi is not None
            sequence, U, b = self.encode(sequence) + self.additive * xi, None, None
        scanned = native.maxmin_scan(
            sequence, z, y, K, U, b, lengths=call.lengths, outputs=call.outputs and not call.mean, total=call.mean
        )
        last = (scanned.last_z, scanned.last_y)
        return shown(scanned.outputs, scanned.total, x.shape[0], call.lengths), last


class _Rows(BuiltCertifiedCell):
    """The same cell, seen from inside: it shows its states beside its outputs."""

    def __init__(self, cell: BuiltCertifiedCell) -> None:
        super().__init__(cell, *cell.tensors, cell.additive)

    @property
    def outputs(self) -> int:
        return self.units + self.shown

    def observe(self, states: States) -> Tensor:
        return torch.cat(states, dim=-1)
