"""Certified RNN: [z'; y] = maxmin(K z + u)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.arguments import check, drive
from noisyrnn.rnn.native.maxmin import Wanted, backward, forward, loop
from noisyrnn.rnn.native.maxmin_operators import scanned
from noisyrnn.rnn.tracing import traced


class MaxminScan(NamedTuple):
    """Outputs (time, batch, p), their sum over the valid steps (batch, p), states (time, batch, n), and the last ones.

    What was not asked for is None. States come without a gradient.
    """

    outputs: Tensor | None
    total: Tensor | None
    states: Tensor | None
    last_z: Tensor
    last_y: Tensor


def maxmin_scan(
    sequence: Tensor,
    z0: Tensor,
    y0: Tensor,
    K: Tensor,
    U: Tensor | None,
    b: Tensor | None,
    *,
    lengths: Tensor | None = None,
    outputs: bool = True,
    total: bool = False,
    states: bool = False,
) -> MaxminScan:
    """[z'; y] = maxmin(K z + u) for all steps; u = U x + b or given. Pairs of neighbours are sorted, the larger first.

    Beyond its length a sample is held, and adds nothing to the ``total``. Where torch compiles or transforms the
    program, no states are shown.
    """
    check(sequence=sequence, h0=z0, y0=y0, K=K, U=U, b=b)
    if lengths is not None:
        lengths = lengths.detach().contiguous()
    rows = z0.new_empty(z0.shape[0], z0.shape[1] + y0.shape[1])
    sequence, U, b = drive(sequence, U, b, rows)
    wanted = Wanted(outputs, total, states, lengths)
    tensors = (sequence, z0, y0, K, U, b)
    if traced() and not states:
        made = scanned(wanted, tensors)
        return MaxminScan(made.outputs, made.total, None, made.last_z, made.last_y)
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return MaxminScan(*_Scan.apply(wanted, *tensors))
    made = forward(wanted, tensors, keep=False)
    return MaxminScan(made.outputs, made.total, made.kept, made.last_z, made.last_y)


class _Scan(torch.autograd.Function):
    """Plain calls go around torch's dispatcher, which costs more than a short scan."""

    @staticmethod
    def forward(ctx: Any, wanted: Wanted, *tensors: Tensor | None) -> Any:
        ctx.set_materialize_grads(False)
        made = forward(wanted, tensors, keep=True)
        ctx.wanted = wanted
        ctx.save_for_backward(*tensors, made.kept, made.moved)
        states = made.kept if wanted.states else None
        if states is not None:
            ctx.mark_non_differentiable(states)
        return made.outputs, made.total, states, made.last_z, made.last_y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        *tensors, kept, moved = ctx.saved_tensors
        of_values = (*gradients[:2], *gradients[3:])
        if all(g is None for g in of_values):
            return (None,) * 7
        need = ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():
            return (None, *_differentiable(ctx.wanted, tensors, need, of_values))
        return (None, *backward(ctx.wanted, tensors, kept, moved, need, of_values))


def _differentiable(
    wanted: Wanted, tensors: Sequence[Any], need: Sequence[bool], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The same gradients by the loop, so that they can be differentiated again."""
    pairs = [(v, g) for v, g in zip(loop(tensors, wanted.lengths), gradients, strict=True) if g is not None]
    asked = [t for t, needed in zip(tensors, need, strict=True) if needed]
    slopes = iter(
        torch.autograd.grad([v for v, _ in pairs], asked, [g for _, g in pairs], create_graph=True, allow_unused=True)
    )
    return [next(slopes) if needed else None for needed in need]
