"""The certified scan as operators of torch, as :mod:`noisyrnn.rnn.native.operators` has those of the other recurrences.

A forward and a backward pass, registered from Python; outputs that are not made are empty tensors of one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from noisyrnn.rnn.native.maxmin import Made, Wanted, backward, forward, loop, moved_bytes
from noisyrnn.rnn.native.operators import for_transforms, one_by_one, second_derivatives
from noisyrnn.rnn.tracing import transformed

_GIVEN = "Tensor sequence, Tensor z0, Tensor y0, Tensor K, Tensor? U, Tensor? b, Tensor? lengths"
_SLOPES = "Tensor? g_outputs, Tensor? g_total, Tensor? g_last_z, Tensor? g_last_y"
_SIX = "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"


def scanned(wanted: Wanted, tensors: Sequence[Any]) -> Made:
    """The scan in a program that torch looks at; it shows no states."""
    # Transforms of functions do not tell who wants a gradient, and a trace is used with gradients and without.
    keep = torch.is_grad_enabled() or torch.jit.is_tracing()
    call = _TRANSFORMED if transformed() else FORWARD
    found = call(*tensors, wanted.lengths, wanted.outputs, wanted.total, keep)
    outputs, total, kept, moved = (None if found[i].ndim == 1 else found[i] for i in (0, 1, 4, 5))
    return Made(outputs, total, found[2], found[3], kept, moved)


def _operator(name: str, schema: str, action: Any, shapes: Any) -> Any:
    made = torch.library.custom_op(f"noisyrnn::{name}", action, mutates_args=(), schema=schema)
    made.register_fake(shapes)
    made.register_vmap(lambda info, in_dims, *arguments: one_by_one(made, info.batch_size, in_dims, arguments))
    return made


def _forward_pass(*arguments: Any) -> tuple[Tensor, ...]:
    *tensors, lengths, outputs, total, keep = arguments
    made = forward(Wanted(outputs, total, False, lengths), tensors, keep=keep)
    return tuple(tensors[1].new_empty(0) if one is None else one for one in made)


def _forward_shapes(*arguments: Any) -> tuple[Tensor, ...]:
    sequence, z0, y0, K, _, _, _, outputs, total, keep = arguments
    steps = sequence.shape[0]
    bits = torch.empty((steps, z0.shape[0], moved_bytes(K.shape[0])), dtype=torch.uint8, device=z0.device)
    return (
        y0.new_empty((steps, *y0.shape)) if outputs else z0.new_empty(0),
        y0.new_empty(y0.shape) if total else z0.new_empty(0),
        z0.new_empty(z0.shape),
        y0.new_empty(y0.shape),
        z0.new_empty((steps, *z0.shape)) if keep else z0.new_empty(0),
        bits if keep else z0.new_empty(0),
    )


def _backward_pass(*arguments: Any) -> tuple[Tensor, ...]:
    tensors, lengths, gradients, (kept, moved, need) = arguments[:6], arguments[6], arguments[7:11], arguments[11:]
    found = backward(Wanted(False, False, False, lengths), tensors, kept, moved, need, gradients)
    return tuple(tensors[1].new_empty(0) if one is None else one for one in found)


def _backward_shapes(*arguments: Any) -> tuple[Tensor, ...]:
    return tuple(
        torch.empty_like(t, memory_format=torch.contiguous_format) if n else arguments[1].new_empty(0)
        for t, n in zip(arguments[:6], arguments[-1], strict=True)
    )


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:7], *output[4:])


def _slope(way: Any, ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
    none, need = (None,) * 4, list(ctx.needs_input_grad[:6])
    if all(g is None for g in gradients[:4]) or not any(need):
        return (*(None,) * 6, *none)
    found = way(*ctx.saved_tensors[:7], *gradients[:4], *ctx.saved_tensors[7:], need)
    return (*(g if n else None for g, n in zip(found, need, strict=True)), *none)


def _keep_for_second(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:11])
    ctx.need = inputs[-1]


def _second_slope(ctx: Any, *seconds: Tensor | None) -> tuple[Any, ...]:
    tensors, lengths, gradients = ctx.saved_tensors[:6], ctx.saved_tensors[6], ctx.saved_tensors[7:]
    of_tensors, of_gradients = second_derivatives(
        lambda given: loop(given, lengths), tensors, gradients, ctx.need, seconds
    )
    return (*of_tensors, None, *of_gradients, None, None, None)


FORWARD = _operator(
    "maxmin_scan", f"({_GIVEN}, bool outputs, bool total, bool keep) -> {_SIX}", _forward_pass, _forward_shapes
)
BACKWARD = _operator(
    "maxmin_scan_backward",
    f"({_GIVEN}, {_SLOPES}, Tensor kept, Tensor moved, bool[] need) -> {_SIX}",
    _backward_pass,
    _backward_shapes,
)
FORWARD.register_autograd(partial(_slope, BACKWARD), setup_context=_keep_for_backward)
BACKWARD.register_autograd(_second_slope, setup_context=_keep_for_second)
_TRANSFORMED = for_transforms(
    FORWARD, _keep_for_backward, partial(_slope, for_transforms(BACKWARD, _keep_for_second, _second_slope))
)
