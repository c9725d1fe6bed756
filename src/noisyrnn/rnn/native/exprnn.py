"""expRNN: h' = modrelu(Q h + u)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from noisyrnn.rnn.native.arguments import check, drive
from noisyrnn.rnn.native.operators import registered, scan
from noisyrnn.rnn.native.sequence import Problem, Recurrence, Scan


def _reference(problem: Problem, tensors: Sequence[Any]) -> tuple[Tensor]:
    """The states, by a loop."""
    sequence, h, Q, bias, U = tensors
    states = []
    for time, u in enumerate(sequence if U is None else torch.nn.functional.linear(sequence, U)):
        v = h @ Q.mT + u
        new = v.sign() * torch.relu(v.abs() + bias)
        h = new if problem.lengths is None else torch.where((time < problem.lengths).unsqueeze(-1), new, h)
        states.append(h)
    return (torch.stack(states) if states else sequence.new_zeros(0, *h.shape),)


_MODRELU = registered(
    Recurrence("modrelu", ("sequence", "h0", "Q", "bias", "U"), _reference, optional=("U",), activations=False)
)


def exprnn_scan(
    sequence: Tensor,
    h0: Tensor,
    Q: Tensor,
    bias: Tensor,
    U: Tensor | None,
    *,
    lengths: Tensor | None = None,
    chunk: int | None = None,
    states: bool = True,
    total: bool = False,
) -> Scan:
    """h' = modrelu(Q h + u), modrelu(v) = sign(v) max(|v| + bias, 0), for all steps; u = U x or given.

    At v = 0 value and gradient are 0. The other arguments are those of :func:`~noisyrnn.rnn.native.tanh_scan`.
    """
    check(sequence=sequence, h0=h0, Q=Q, bias=bias, U=U)
    sequence, U, _ = drive(sequence, U, None, h0)
    problem = Problem(_MODRELU.recurrence, lengths, chunk, states, total=total)
    found, last, whole = scan(_MODRELU, problem, (sequence, h0, Q, bias, U))
    assert last is not None
    return Scan(found, last, whole)
