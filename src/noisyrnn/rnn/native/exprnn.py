"""expRNN: h' = modrelu(Q h + u)."""

from __future__ import annotations

from torch import Tensor

from noisyrnn.rnn.native.arguments import check, drive
from noisyrnn.rnn.native.sequence import Problem, Recurrence, Reference, Scan, scan

_MODRELU = Recurrence("modrelu", ("sequence", "h0", "Q", "bias", "U"), activations=False)


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
    reference: Reference | None = None,
) -> Scan:
    """h' = modrelu(Q h + u), modrelu(v) = sign(v) max(|v| + bias, 0), for all steps; u = U x or given.

    At v = 0 value and gradient are 0. The other arguments are those of :func:`~noisyrnn.rnn.native.tanh_scan`;
    ``reference(sequence, h0, Q, bias, U)`` must return the states.
    """
    check(sequence=sequence, h0=h0, Q=Q, bias=bias, U=U)
    sequence, U, _ = drive(sequence, U, None, h0)
    problem = Problem(_MODRELU, lengths, chunk, states, reference, {})
    return Scan(*scan(problem, (sequence, h0, Q, bias, U)))
