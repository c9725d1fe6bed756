"""coRNN: z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z), y' = y + dt z'."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.arguments import check, constant, drive
from noisyrnn.rnn.native.sequence import Problem, Recurrence, Reference, scan

_OSCILLATOR = Recurrence("oscillator", ("sequence", "y0", "z0", "Wy", "Wz", "U", "b"), records=("y", "z"), rebuilt=True)


class OscillatorScan(NamedTuple):
    """Positions y and velocities z after each step, and after the last."""

    y: Tensor | None
    z: Tensor | None
    last_y: Tensor
    last_z: Tensor


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
    reference: Reference | None = None,
) -> OscillatorScan:
    """z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z), y' = y + dt z', for all steps.

    With ``implicit`` damping z' = (z + dt (tanh(...) - gamma y)) / (1 + dt eps). ``dt``, ``gamma``, ``eps``
    are scalars or one number for each unit, without gradients. The other arguments are those of
    :func:`~noisyrnn.rnn.native.tanh_scan`; ``reference(sequence, y0, z0, Wy, Wz, U, b)`` must return the states
    of y and of z.
    """
    check(sequence=sequence, h0=y0, z0=z0, Wy=Wy, Wz=Wz, U=U, b=b)
    sequence, U, b = drive(sequence, U, b, y0)
    step, pull, damping = (constant(name, c, y0) for name, c in (("dt", dt), ("gamma", gamma), ("eps", eps)))
    shrink = 1 / (1 + step * damping) if implicit else torch.ones_like(step)
    keep = shrink if implicit else 1 - step * damping
    rest = {"coefficients": torch.stack((keep, step * shrink, step * pull * shrink, step))}
    problem = Problem(_OSCILLATOR, lengths, chunk, states, reference, rest)
    return OscillatorScan(*scan(problem, (sequence, y0, z0, Wy, Wz, U, b)))
