"""The scans as operators of torch, ``torch.ops.noisyrnn``: for programs that torch compiles, exports or transforms.

Each recurrence has one for the forward and one for the backward pass, registered from Python. The key of the noise is a
tensor of its two 32-bit words, never a constant; outputs that are not made are empty tensors. The backward operator's
own derivative is that of the reference loop. Plain calls go around the dispatcher, which costs more than a short scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.sequence import (
    Noise,
    Outputs,
    Problem,
    Recurrence,
    backward,
    by_kernel,
    by_reference,
    forward,
    shown,
    wanted,
)
from noisyrnn.rnn.tracing import traced, transformed
from noisyrnn.sde.brownian import Key

_SETTINGS = "Tensor? lengths, Tensor? coefficients, Tensor key"
_NUMBERS = (
    "int noise, float additive, float multiplicative, SymInt stream, SymInt sample, SymInt step, SymInt chunk, "
    "bool states, bool total"
)
_COUNT = _NUMBERS.count(",") + 1


class Operators(NamedTuple):
    """A recurrence with its two operators, and its forward pass for transforms of functions.

    The transforms of ``torch.func`` do not accept what ``register_autograd`` makes, so ``transformed`` states the same
    derivatives once more, in the form that they want.
    """

    recurrence: Recurrence
    forward: Any
    backward: Any
    transformed: Any


def scan(operators: Operators, problem: Problem, tensors: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """The states of all records where they are wanted, their last states, and the sum over the valid steps."""
    if problem.chunk is not None and problem.chunk < 1:
        raise ValueError(f"chunk counts the steps between kept states and must be at least 1, got {problem.chunk}.")
    lengths = problem.lengths
    if lengths is not None:
        if lengths.dtype != torch.int64 or lengths.device.type != "cpu":
            raise ValueError(f"lengths must be int64 on the CPU, got {lengths.dtype} on {lengths.device}.")
        problem = problem._replace(lengths=lengths.detach().contiguous())
    if not traced():
        return by_kernel(problem, tensors)
    # Transforms of functions do not tell who wants a gradient, and a trace is used with gradients and without.
    keep = torch.is_grad_enabled() or torch.jit.is_tracing()
    call = operators.transformed if transformed() else operators.forward
    found = call(*tensors, *_arguments(problem), keep)
    return shown(problem, _outputs(problem.recurrence, found))


def registered(recurrence: Recurrence) -> Operators:
    """The operators of a recurrence: kernel, shapes without it, derivatives, and many at a time."""
    names = [f"Tensor{'?' * (name in recurrence.optional)} {name}" for name in recurrence.tensors]
    records, count = len(recurrence.records), len(recurrence.tensors)
    places = [f"{kind}_{i}" for kind in ("states", "points", "last") for i in range(records)]
    places += ["total", "activations"]
    slopes = [f"Tensor? g_{kind}_{i}" for kind in ("states", "last") for i in range(records)] + ["Tensor? g_total"]
    given, made = ", ".join([*names, _SETTINGS]), ", ".join(f"Tensor {name}" for name in places)
    many = {n: f"({', '.join(['Tensor'] * n)})" for n in (len(places), count)}

    def forward_pass(*arguments: Any) -> tuple[Tensor, ...]:
        *others, keep = arguments
        tensors, problem = _problem(recurrence, others)
        found = forward(problem, tensors, keep=keep)
        return tuple(tensors[1].new_empty(0) if one is None else one for one in _flat(found))

    def forward_shapes(*arguments: Any) -> tuple[Tensor, ...]:
        *others, keep = arguments
        tensors, problem = _problem(recurrence, others)
        sequence, initial = tensors[0], tensors[1]
        made, steps = wanted(problem, keep=keep), sequence.shape[0]
        marks = -(-steps // problem.chunk) if problem.chunk else 0
        lengths = [*(steps if one else None for one in made.states), *(marks if one else None for one in made.points)]
        series = [(0,) if n is None else (n, *initial.shape) for n in (*lengths, steps if made.activations else None)]
        one = tuple(initial.shape)
        shapes = [*series[:-1], *[one] * records, one if problem.total else (0,), series[-1]]
        return tuple(initial.new_empty(shape) for shape in shapes)

    def backward_pass(*arguments: Any) -> tuple[Tensor, ...]:
        tensors, problem, gradients, outputs, need = _backward_parts(recurrence, arguments)
        found = backward(problem, tensors, _outputs(recurrence, outputs), need, gradients)
        return tuple(tensors[1].new_empty(0) if one is None else one for one in found)

    def backward_shapes(*arguments: Any) -> tuple[Tensor, ...]:
        tensors, _, _, _, need = _backward_parts(recurrence, arguments)
        return tuple(
            torch.empty_like(t, memory_format=torch.contiguous_format) if n else tensors[1].new_empty(0)
            for t, n in zip(tensors, need, strict=True)
        )

    def operator(name: str, schema: str, action: Any, shapes: Any) -> Any:
        made = torch.library.custom_op(f"noisyrnn::{name}", action, mutates_args=(), schema=schema)
        made.register_fake(shapes)
        made.register_vmap(lambda info, in_dims, *arguments: one_by_one(made, info.batch_size, in_dims, arguments))
        return made

    ahead = operator(
        f"{recurrence.name}_scan",
        f"({given}, {_NUMBERS}, bool keep) -> {many[len(places)]}",
        forward_pass,
        forward_shapes,
    )
    back = operator(
        f"{recurrence.name}_scan_backward",
        f"({given}, {', '.join(slopes)}, {made}, {_NUMBERS}, bool[] need) -> {many[count]}",
        backward_pass,
        backward_shapes,
    )

    def keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs[: count + 3], *output)
        ctx.numbers = inputs[count + 3 : -1]

    def slope(way: Any, ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        none = (None,) * (3 + len(ctx.numbers) + 1)
        of_outputs = [
            None if g is None or g.ndim == 1 else g  # of what was not made
            for g in (*gradients[:records], *gradients[2 * records : 3 * records + 1])
        ]
        need = list(ctx.needs_input_grad[:count])
        if all(g is None for g in of_outputs) or not any(need):
            return (*(None,) * count, *none)
        given, outputs = ctx.saved_tensors[: count + 3], ctx.saved_tensors[count + 3 :]
        found = way(*given, *of_outputs, *outputs, *ctx.numbers, need)
        return (*(g if n else None for g, n in zip(found, need, strict=True)), *none)

    def keep_for_second(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        tensors = inputs[: count + 3 + len(slopes)]
        ctx.save_for_backward(*tensors)
        ctx.numbers, ctx.need, ctx.rest = inputs[-1 - _COUNT : -1], inputs[-1], len(inputs) - len(tensors)

    def second_slope(ctx: Any, *seconds: Tensor | None) -> tuple[Any, ...]:
        saved = ctx.saved_tensors
        tensors, gradients = saved[:count], saved[count + 3 :]
        _, problem = _problem(recurrence, (*saved[: count + 3], *ctx.numbers))
        every = partial(by_reference, problem)
        of_tensors, of_gradients = second_derivatives(every, tensors, gradients, ctx.need, seconds)
        return (*of_tensors, None, None, None, *of_gradients, *(None,) * ctx.rest)

    ahead.register_autograd(partial(slope, back), setup_context=keep_for_backward)
    back.register_autograd(second_slope, setup_context=keep_for_second)
    transformed_back = for_transforms(back, keep_for_second, second_slope)
    transformed_ahead = for_transforms(ahead, keep_for_backward, partial(slope, transformed_back))
    return Operators(recurrence, ahead, back, transformed_ahead)


def for_transforms(operator: Any, keep: Any, slope: Any) -> Any:
    """An operator with its derivative as an autograd function."""

    class Transformed(torch.autograd.Function):
        @staticmethod
        def forward(*arguments: Any) -> Any:
            return operator(*arguments)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            keep(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return slope(ctx, *gradients)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
            return one_by_one(Transformed.apply, info.batch_size, in_dims, arguments)

    return Transformed.apply


def _arguments(problem: Problem) -> tuple[Any, ...]:
    kind, additive, multiplicative, key = problem.noise
    return (
        problem.lengths, problem.coefficients, key.words(), kind, additive, multiplicative, key.stream, key.sample,
        key.step, problem.chunk or 0, problem.states, problem.total,
    )  # fmt: skip


def _problem(recurrence: Recurrence, arguments: Sequence[Any]) -> tuple[tuple[Any, ...], Problem]:
    count = len(recurrence.tensors)
    lengths, coefficients, words, *numbers = arguments[count:]
    kind, additive, multiplicative, stream, sample, step, chunk, states, total = numbers
    noise = Noise(kind, additive, multiplicative, Key(value=words, stream=stream, sample=sample, step=step))
    problem = Problem(recurrence, lengths, chunk or None, states, noise, coefficients, total)
    return tuple(arguments[:count]), problem


def _backward_parts(recurrence: Recurrence, arguments: Sequence[Any]) -> tuple[Any, Problem, Any, Any, Sequence[bool]]:
    count, records = len(recurrence.tensors), len(recurrence.records)
    given, slopes = count + 3, count + 3 + 2 * records + 1
    tensors, problem = _problem(recurrence, (*arguments[:given], *arguments[-1 - _COUNT : -1]))
    return tensors, problem, arguments[given:slopes], arguments[slopes : -1 - _COUNT], arguments[-1]


def _flat(outputs: Outputs) -> tuple[Tensor | None, ...]:
    return (*outputs.states, *outputs.points, *outputs.last, outputs.total, outputs.activations)


def _outputs(recurrence: Recurrence, found: Sequence[Tensor]) -> Outputs:
    """An empty tensor stands for one that was not made: all others have three axes, or two."""
    r = len(recurrence.records)
    *made, total, activations = [None if one.ndim == 1 else one for one in found]
    return Outputs(tuple(made[:r]), tuple(made[r : 2 * r]), tuple(found[2 * r : 3 * r]), total, activations)


def one_by_one(operator: Any, size: int, in_dims: Sequence[Any], arguments: Sequence[Any]) -> tuple[Any, Any]:
    """Each of a batch of calls by itself: their noise is that of single calls, and so are the gradients of weights."""

    def at(index: int) -> list[Any]:
        return [
            a.select(d, index) if isinstance(a, Tensor) and d is not None else a
            for a, d in zip(arguments, in_dims, strict=True)
        ]

    found = [operator(*at(index)) for index in range(size)]
    stacked = tuple(torch.stack(parts) for parts in zip(*found, strict=True))
    return stacked, (0,) * len(stacked)


def second_derivatives(
    every: Callable[[Sequence[Any]], tuple[Tensor, ...]],
    tensors: Sequence[Any],
    gradients: Sequence[Any],
    need: Sequence[bool],
    seconds: Sequence[Tensor | None],
) -> tuple[list[Any], list[Any]]:
    """Derivatives of (gradients of the tensors) . seconds; ``every`` gives all outputs by the reference loop."""
    places = [i for i, t in enumerate(tensors) if t is not None and need[i] and t.is_floating_point()]
    given = [i for i, g in enumerate(gradients) if g is not None]

    def outputs(*asked: Tensor) -> tuple[Tensor, ...]:
        replaced = dict(zip(places, asked, strict=True))
        whole = [replaced.get(i, t) for i, t in enumerate(tensors)]
        found = every(whole)
        return tuple(found[i] for i in given)

    def first(asked: tuple[Tensor, ...], weights: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return _pulled_back(outputs, *asked)[1](weights)

    asked, weights = tuple(tensors[i] for i in places), tuple(gradients[i] for i in given)
    slopes, pull = _pulled_back(first, asked, weights)
    of_asked, of_weights = pull(
        tuple(torch.zeros_like(s) if seconds[i] is None else seconds[i] for i, s in zip(places, slopes, strict=True))
    )
    of_tensors: list[Any] = [None] * len(tensors)
    of_gradients: list[Any] = [None] * len(gradients)
    for i, value in zip(places, of_asked, strict=True):
        of_tensors[i] = value
    for i, value in zip(given, of_weights, strict=True):
        of_gradients[i] = value
    return of_tensors, of_gradients


def _pulled_back(function: Any, *at: Any) -> tuple[Any, Any]:
    """The values of a function, and the function that takes weights of them to gradients."""
    values, pull, *_ = torch.func.vjp(function, *at)
    return values, pull
