"""h' = h + dt (A h + tanh(W h + u)) + noise: the noisy, the Lipschitz and the antisymmetric RNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from noisyrnn.rnn.eager import StepLaw, affine_loop
from noisyrnn.rnn.native.arguments import check, drive, step_size
from noisyrnn.rnn.native.noise import gaussian, uniform
from noisyrnn.rnn.native.operators import registered, scan
from noisyrnn.rnn.native.sequence import Noise, Problem, Recurrence, Scan
from noisyrnn.sde import brownian
from noisyrnn.sde.brownian import Key
from noisyrnn.sde.convention import Convention, NoiseLaw

_NUMBERS = {Convention.ITO: 1, Convention.RELEASED: 2}  # as the kernel numbers them; 0 is none
_CONVENTIONS = {number: convention for convention, number in _NUMBERS.items()}


def _reference(problem: Problem, tensors: Sequence[Any]) -> tuple[Tensor]:
    """The states, by a loop with the same noise."""
    sequence, h0, A, W, U, b, gate, dt = tensors
    steps, (batch, units) = len(sequence), h0.shape
    kind, additive, multiplicative, key = problem.noise
    law, xi, uniforms, valid = NoiseLaw(convention=Convention.ITO), None, None, None
    if kind:
        law = NoiseLaw(convention=_CONVENTIONS[kind], additive=additive, multiplicative=multiplicative)
        draws = (brownian.draw, brownian.uniform) if isinstance(key.value, Tensor) else (gaussian, uniform)
        xi, uniforms = (draw(key, batch, steps, units, dtype=h0.dtype) for draw in draws)
    if problem.lengths is not None:
        valid = (torch.arange(steps).unsqueeze(-1) < problem.lengths).unsqueeze(-1)
    content = sequence if U is None else torch.nn.functional.linear(sequence, U, b)
    sizes = (dt.unsqueeze(-1) if dt.ndim == 2 else dt.reshape(1, 1, -1)).expand(steps, -1, -1)
    return (affine_loop(content, h0, A, W, sizes, StepLaw.of(law, xi, uniforms, valid), gate),)


_TANH = registered(
    Recurrence(
        "tanh",
        ("sequence", "h0", "A", "W", "U", "b", "gate", "dt"),
        _reference,
        optional=("A", "U", "b", "gate"),
        noisy=True,
    )
)


def law_of(noise: NoiseLaw | None, key: Key | None) -> Noise:
    """Noise as the kernel takes it: none, without a law or a key."""
    if noise is None or key is None:
        return Noise()
    return Noise(_NUMBERS[noise.convention], float(noise.additive or 0.0), float(noise.multiplicative), key)


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
    total: bool = False,
) -> Scan:
    """h' = h + dt (A h + tanh(W h + u)) + noise, for all steps.

    Noise is on where a law of it is given, and then needs a ``key``; its strengths are numbers. ``sequence`` is the
    input x (time, batch, inputs) if ``U`` is given, u = U x + b, and the drive u (time, batch, units) otherwise.
    Without ``A`` the linear term is absent. With ``gate``, a drive v, the recurrence is
    h' = h + dt sigmoid(W h + v) tanh(W h + u). ``dt`` broadcasts against (time, batch, units) and may vary over units,
    or over time and batch, but not over both. After ``lengths`` steps a sample's state is held. With ``chunk`` only
    every chunk-th state is kept for the backward pass and the rest computed again: pass about sqrt(time), and
    ``states=False`` so that the states themselves are not returned. ``total`` asks for their sum over each sample's
    valid steps, which takes no room for the states of all steps without gradients.
    """
    if noise is not None and key is None:
        raise ValueError(f"Noise of the convention {noise.convention.name} needs a key; without noise pass noise=None.")
    if gate is not None and (A is not None or noise is not None):
        raise ValueError("A gated recurrence has neither a matrix A nor noise: pass A=None and noise=None.")
    check(sequence=sequence, h0=h0, A=A, W=W, U=U, b=b, gate=gate)
    sequence, U, b = drive(sequence, U, b, h0)
    problem = Problem(_TANH.recurrence, lengths, chunk, states, law_of(noise, key), total=total)
    found, last, whole = scan(_TANH, problem, (sequence, h0, A, W, U, b, gate, step_size(dt, sequence, h0)))
    assert last is not None
    return Scan(found, last, whole)
