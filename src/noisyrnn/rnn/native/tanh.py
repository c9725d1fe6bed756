"""h' = h + dt (A h + tanh(W h + u)) + noise: the noisy, the Lipschitz and the antisymmetric RNN."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from noisyrnn.rnn.native.arguments import check, drive, step_size
from noisyrnn.rnn.native.noise import numbers
from noisyrnn.rnn.native.sequence import Problem, Recurrence, Reference, Scan, scan
from noisyrnn.sde.brownian import Key
from noisyrnn.sde.convention import Convention, NoiseLaw

_TANH = Recurrence("tanh", ("sequence", "h0", "A", "W", "U", "b", "gate", "dt"))


_NOISE = {Convention.ITO: 1, Convention.RELEASED: 2}  # as the kernel numbers them; 0 is none


def tanh_scan(
    sequence: Tensor,
    h0: Tensor,
    A: Tensor | None,
    W: Tensor,
    U: Tensor | None,
    b: Tensor | None,
    dt: Tensor | float,
    *,
    noise: NoiseLaw | None = None,
    key: Key | None = None,
    gate: Tensor | None = None,
    lengths: Tensor | None = None,
    chunk: int | None = None,
    states: bool = True,
    reference: Reference | None = None,
) -> Scan:
    """h' = h + dt (A h + tanh(W h + u)) + noise, for all steps.

    Noise is on where a law of it is given, and then needs a ``key``; its strengths are numbers. ``sequence`` is the
    input x (time, batch, inputs) if ``U`` is given, u = U x + b, and the drive u (time, batch, units) otherwise.
    Without ``A`` the linear term is absent. With ``gate``, a drive v, the recurrence is
    h' = h + dt sigmoid(W h + v) tanh(W h + u). ``dt`` broadcasts against (time, batch, units) and may vary over units,
    or over time and batch, but not over both. After ``lengths`` steps a sample's state is held. With ``chunk`` only
    every chunk-th state is kept for the backward pass and the rest computed again: pass about sqrt(time), and
    ``states=False`` so that the states themselves are not returned.

    ``reference(sequence, h0, A, W, U, b, gate, dt)`` must return the states; its dt has the shape (units) or
    (time, batch or 1, 1).
    """
    if noise is not None and key is None:
        raise ValueError(f"Noise of the convention {noise.convention.name} needs a key; without noise pass noise=None.")
    if gate is not None and (A is not None or noise is not None):
        raise ValueError("A gated recurrence has neither a matrix A nor noise: pass A=None and noise=None.")
    check(sequence=sequence, h0=h0, A=A, W=W, U=U, b=b, gate=gate)
    sequence, U, b = drive(sequence, U, b, h0)
    rest = {
        "noise": 0 if noise is None else _NOISE[noise.convention],
        "additive": 0.0 if noise is None else float(noise.additive or 0.0),
        "multiplicative": 0.0 if noise is None else float(noise.multiplicative),
        "key": (0, 0, 0, 0) if key is None else numbers(key),
    }
    shaped = None if reference is None else _with_axis_of_units(reference)
    problem = Problem(_TANH, lengths, chunk, states, shaped, rest)
    return Scan(*scan(problem, (sequence, h0, A, W, U, b, gate, step_size(dt, sequence, h0))))


def _with_axis_of_units(reference: Reference) -> Reference:
    """The reference, given a dt that broadcasts: (time, batch or 1) lacks the axis that it does not vary over."""

    def shaped(*tensors: Any) -> Tensor:
        *others, dt = tensors
        return reference(*others, dt if dt.ndim == 1 else dt.unsqueeze(-1))

    return shaped
