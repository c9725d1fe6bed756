r"""The fast path of the tanh family: f = A h + tanh(W h + u), with noise of either convention.

A cell of this family says so, and gives its parts: the drift with its matrices built, the law of its noise, its step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Call, FastPath, NoisePath, Sequenced, States
from noisyrnn.rnn.eager import StepLaw, affine_loop, affine_scan
from noisyrnn.rnn.pooling import shown
from noisyrnn.rnn.tracing import traced
from noisyrnn.sde.activations import TANH
from noisyrnn.sde.brownian import Key
from noisyrnn.sde.convention import NoiseLaw
from noisyrnn.sde.drift import Drift, GatedDrift, TanhDrift
from noisyrnn.sde.steps import ConstantStep, LearnedStep, StepSize

_NEAR, _FOR_THREADS = 1 << 20, 1 << 22
"""Numbers of a stretch of steps that are made at once, near at hand when they are used; more to share among threads."""
_FEWEST = 16
"""Steps of a stretch at least, so that the product that gathers the gradients of the weights is a large one."""

Paths = Callable[[Key, int, int, Tensor], NoisePath]
"""The noise of a key, for a number of samples and of steps, in the precision of a tensor: :meth:`Cell.path`."""


@dataclass(frozen=True)
class TanhFastPath(FastPath):
    """h + alpha (A h + tanh(W h + u)) + beta, all steps at once; ``step_size`` is None where a call gives its own."""

    drift: TanhDrift | GatedDrift
    law: NoiseLaw
    step_size: ConstantStep | LearnedStep | None
    paths: Paths

    @classmethod
    def of(cls, drift: Drift, law: NoiseLaw, step_size: StepSize | None, paths: Paths) -> TanhFastPath | None:
        """The fast path of these parts, or None where they are not of the family."""
        # Exactly these: a subclass may have another equation.
        if not (type(drift) is TanhDrift or type(drift) is GatedDrift) or drift.activation != TANH:
            return None
        if isinstance(drift, GatedDrift) and not law.silent:
            return None
        if step_size is not None and not isinstance(step_size, ConstantStep | LearnedStep):
            return None
        return cls(drift, law, step_size, paths)

    def by_eager(self, x: Tensor, states: States, call: Call) -> Sequenced | None:
        if isinstance(self.drift, GatedDrift):
            return None
        (h,), drift, steps = states, self.drift, x.shape[0]
        dt = _over_time(self._dt(h, call), steps)
        # What torch looks into has to be made of its own operations.
        if self.law.learned or traced():
            outputs = affine_loop(drift.encode(x), h, drift.A, drift.W, dt, self._steps(x, call))
            return outputs, (outputs[-1],)
        parts: list[Tensor] = []
        together = max(_FEWEST, (_NEAR if torch.get_num_threads() == 1 else _FOR_THREADS) // max(1, h.numel()))
        for first in range(0, steps, together):
            part = slice(first, first + together)
            law = self._steps(x[part], call, first)
            outputs, h = affine_scan(drift.encode(x[part]), h, drift.A, drift.W, dt[part], law)
            parts += [outputs] * call.outputs
        return torch.cat(parts) if len(parts) > 1 else parts[0] if parts else None, (h,)

    def by_kernel(self, x: Tensor, states: States, call: Call) -> Sequenced | None:
        if self.law.learned:
            return None
        (h,), drift = states, self.drift
        gated = isinstance(drift, GatedDrift)

        content, gate = drift.encode(x).chunk(2, dim=-1) if gated else (x, None)
        scanned = native.tanh_scan(
            content, h, None if isinstance(drift, GatedDrift) else drift.A, drift.W,
            None if gated else drift.U, None if gated else drift.b, self._dt(h, call),
            noise=None if call.key is None or self.law.silent else self.law, key=call.key, gate=gate,
            lengths=call.lengths, chunk=call.chunk, states=call.outputs and not call.mean, total=call.mean,
        )  # fmt: skip
        return shown(scanned.states, scanned.total, x.shape[0], call.lengths), (scanned.last,)

    def stepper(self, batch: int, like: Tensor, key: Key | None) -> native.TanhStep | None:
        drift = self.drift
        if isinstance(drift, GatedDrift) or self.law.learned or self.step_size is None or drift.W.dtype != like.dtype:
            return None
        dt = self.step_size(drift.W, lambda: drift.W)
        noise = native.law_of(None if self.law.silent else self.law, key)
        return native.TanhStep(batch, drift.A, drift.W, drift.U, drift.b, dt, noise)

    def _dt(self, h: Tensor, call: Call) -> Tensor:
        if call.dt is not None:
            return call.dt
        if self.step_size is None:
            raise ValueError("A step size that depends on the state needs the reference route; use Route.SCAN.")
        return self.step_size(h, lambda: h)

    def _steps(self, x: Tensor, call: Call, first: int = 0) -> StepLaw:
        """How the steps of x (time, batch, inputs), the call's from ``first`` on, depend on size and noise."""
        steps, batch, _ = x.shape
        xi, uniforms = (None, None) if call.key is None else self.paths(call.key.later(first), batch, steps, x)
        valid = None
        if call.lengths is not None:
            valid = (torch.arange(first, first + steps, device=x.device).unsqueeze(-1) < call.lengths).unsqueeze(-1)
        return StepLaw.of(self.law, xi, uniforms, valid)


def _over_time(value: Tensor, steps: int) -> Tensor:
    """A scalar, a vector over units, or (time, ...) as (time, 1 or batch, 1 or units)."""
    return (value if value.ndim == 3 else value.reshape(1, 1, -1)).expand(steps, -1, -1)
