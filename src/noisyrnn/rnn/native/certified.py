"""Certified RNN: [z'; y] = maxmin(K z + u)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.arguments import check, drive
from noisyrnn.rnn.native.kernel import empty, module, threads

Reference = Callable[..., tuple[Tensor, ...]]
"""The outputs and the last z and y as a differentiable function of the scan's tensors."""

_BLOCK = 16  # units whose pairs share a byte


class MaxminScan(NamedTuple):
    """Outputs (time, batch, p), their sum over the valid steps (batch, p), states (time, batch, n), and the last ones.

    What was not asked for is None. States come without a gradient.
    """

    outputs: Tensor | None
    total: Tensor | None
    states: Tensor | None
    last_z: Tensor
    last_y: Tensor


class _Wanted(NamedTuple):
    outputs: bool
    total: bool
    states: bool
    lengths: Tensor | None
    reference: Reference | None


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
    reference: Reference | None = None,
) -> MaxminScan:
    """[z'; y] = maxmin(K z + u) for all steps; u = U x + b or given. Pairs of neighbours are sorted, the larger first.

    Beyond its length a sample is held, and adds nothing to the ``total``. ``reference(sequence, z0, y0, K, U, b)`` must
    return the outputs and the last z and y, for second derivatives.
    """
    check(sequence=sequence, h0=z0, y0=y0, K=K, U=U, b=b)
    if lengths is not None:
        lengths = lengths.detach().contiguous()
    rows = z0.new_empty(len(z0), z0.shape[1] + y0.shape[1])
    sequence, U, b = drive(sequence, U, b, rows)
    wanted = _Wanted(outputs, total, states, lengths, reference)
    tensors = (sequence, z0, y0, K, U, b)
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return MaxminScan(*_Scan.apply(wanted, *tensors))
    return MaxminScan(*_forward(wanted, tensors, keep=False)[0])


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, wanted: _Wanted, *tensors: Tensor | None) -> Any:
        ctx.set_materialize_grads(False)
        found, kept = _forward(wanted, tensors, keep=True)
        ctx.wanted = wanted
        ctx.save_for_backward(*tensors, *kept)
        if found[2] is not None:
            ctx.mark_non_differentiable(found[2])
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        *tensors, kept, moved = ctx.saved_tensors
        if all(g is None for g in gradients):
            return (None,) * 7
        need = ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():
            return (None, *_differentiable(ctx.wanted, tensors, need, gradients))
        return (None, *_backward(ctx.wanted, tensors, kept, moved, need, gradients))


def _forward(wanted: _Wanted, tensors: Sequence[Any], *, keep: bool) -> tuple[Any, tuple[Any, Any]]:
    sequence, z0, y0, K, U, b = (_plain(t) for t in tensors)
    steps, batch, dtype = len(sequence), len(z0), z0.dtype
    outputs = empty((steps, *y0.shape), dtype) if wanted.outputs else None
    total = torch.empty_like(y0) if wanted.total else None
    kept = empty((steps, *z0.shape), dtype) if keep or wanted.states else None
    bytes_ = -(-len(K) // _BLOCK)
    moved = torch.empty((steps, batch, bytes_), dtype=torch.uint8) if keep else None
    last_z, last_y = torch.empty_like(z0), torch.empty_like(y0)
    module().maxmin_forward(
        _common(wanted, sequence, U, b), z0=z0, y0=y0, K=K, outputs=outputs, total=total, kept=kept, moved=moved,
        last_z=last_z, last_y=last_y,
    )  # fmt: skip
    return (outputs, total, kept if wanted.states else None, last_z, last_y), (kept, moved)


def _backward(
    wanted: _Wanted,
    tensors: Sequence[Any],
    kept: Tensor,
    moved: Tensor,
    need: Sequence[bool],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    plain = [_plain(t) for t in tensors]
    sequence, z0, y0, K, U, b = plain
    found = [empty(t.shape, t.dtype) if needed else None for t, needed in zip(plain, need, strict=True)]
    g_sequence, g_z0, g_y0, g_K, g_U, g_b = found
    g_outputs, g_total, _, g_last_z, g_last_y = (_plain(g) for g in gradients)
    into = module().InputGradients(**{"drive" if U is None else "x": g_sequence, "U": g_U, "b": g_b})
    module().maxmin_backward(
        _common(wanted, sequence, U, b), z0=z0, y0=y0, K=K, kept=kept, moved=moved, g_outputs=g_outputs,
        g_total=g_total, g_last_z=g_last_z, g_last_y=g_last_y, gradients=into, g_z0=g_z0, g_y0=g_y0, g_K=g_K,
    )  # fmt: skip
    return found


def _differentiable(
    wanted: _Wanted, tensors: Sequence[Any], need: Sequence[bool], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The same gradients by the caller's reference, so that they can be differentiated again."""
    if wanted.reference is None:
        raise RuntimeError("The kernel has no second derivatives: pass a differentiable reference to the scan.")
    outputs, last_z, last_y = wanted.reference(*tensors)
    valid = outputs
    if wanted.lengths is not None:
        beyond = torch.arange(len(outputs)).unsqueeze(1) >= wanted.lengths
        valid = outputs.masked_fill(beyond.unsqueeze(-1), 0)
    values = (outputs, valid.sum(0), None, last_z, last_y)
    pairs = [(value, g) for value, g in zip(values, gradients, strict=True) if g is not None and value is not None]
    asked = [t for t, needed in zip(tensors, need, strict=True) if needed]
    slopes = iter(
        torch.autograd.grad([v for v, _ in pairs], asked, [g for _, g in pairs], create_graph=True, allow_unused=True)
    )
    return [next(slopes) if needed else None for needed in need]


def _common(wanted: _Wanted, sequence: Tensor, U: Tensor | None, b: Tensor | None) -> Any:
    given = {"drive": sequence} if U is None else {"x": sequence, "U": U, "b": b}
    return module().Common(**given, lengths=wanted.lengths, chunk=0, threads=threads())


def _plain(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous()
