"""coRNN: z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z), y' = y + dt z'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.arguments import check, constant, drive
from noisyrnn.rnn.native.operators import registered, scan
from noisyrnn.rnn.native.sequence import Problem, Recurrence


def _reference(problem: Problem, tensors: Sequence[Any]) -> tuple[Tensor, ...]:
    """The states of y and of z, by a loop."""
    sequence, y, z, Wy, Wz, U, b = tensors
    assert problem.coefficients is not None
    keep, push, pull, step = problem.coefficients
    shown = []
    for time, u in enumerate(sequence if U is None else torch.nn.functional.linear(sequence, U, b)):
        faster = keep * z + push * torch.tanh(y @ Wy.mT + z @ Wz.mT + u) - pull * y
        further = y + step * faster
        if problem.lengths is not None:
            valid = (time < problem.lengths).unsqueeze(-1)
            faster, further = torch.where(valid, faster, z), torch.where(valid, further, y)
        y, z = further, faster
        shown.append((y, z))
    if not shown:
        return sequence.new_zeros(0, *y.shape), sequence.new_zeros(0, *z.shape)
    return tuple(torch.stack(part) for part in zip(*shown, strict=True))


_OSCILLATOR = registered(
    Recurrence(
        "oscillator",
        ("sequence", "y0", "z0", "Wy", "Wz", "U", "b"),
        _reference,
        records=("y", "z"),
        rebuilt=True,
    )
)


class OscillatorScan(NamedTuple):
    """Positions y and velocities z after each step, and after the last; the sum of y over the valid steps."""

    y: Tensor | None
    z: Tensor | None
    last_y: Tensor
    last_z: Tensor
    total: Tensor | None = None


def cornn_scan(
    sequence: Tensor,
    y0: Tensor,
    z0: Tensor,
    Wy: Tensor,
    Wz: Tensor,
    U: Tensor | None,
    b: Tensor | None,
    *,
    dt: Tensor | float,
    gamma: Tensor | float,
    eps: Tensor | float,
    implicit: bool = False,
    lengths: Tensor | None = None,
    chunk: int | None = None,
    states: bool = True,
    total: bool = False,
) -> OscillatorScan:
    """z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z), y' = y + dt z', for all steps.

    With ``implicit`` damping z' = (z + dt (tanh(...) - gamma y)) / (1 + dt eps). ``dt``, ``gamma``, ``eps``
    are scalars or one number for each unit, without gradients. The other arguments are those of
    :func:`~noisyrnn.rnn.native.tanh_scan`.
    """
    check(sequence=sequence, h0=y0, z0=z0, Wy=Wy, Wz=Wz, U=U, b=b)
    sequence, U, b = drive(sequence, U, b, y0)
    step, pull, damping = (constant(name, c, y0) for name, c in (("dt", dt), ("gamma", gamma), ("eps", eps)))
    shrink = 1 / (1 + step * damping) if implicit else torch.ones_like(step)
    keep = shrink if implicit else 1 - step * damping
    coefficients = torch.stack((keep, step * shrink, step * pull * shrink, step))
    problem = Problem(_OSCILLATOR.recurrence, lengths, chunk, states, coefficients=coefficients, total=total)
    y, z, last_y, last_z, whole = scan(_OSCILLATOR, problem, (sequence, y0, z0, Wy, Wz, U, b))
    assert last_y is not None
    assert last_z is not None
    return OscillatorScan(y, z, last_y, last_z, whole)
