"""A whole sequence as one node of the graph: the kernel's call forward, and its call backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.kernel import empty, module, threads

Reference = Callable[..., Any]


class Scan(NamedTuple):
    """States after each step, (time, batch, units), and the state after the last, (batch, units).

    Take ``last`` rather than ``states[-1]`` where only that is used: its gradient is small.
    """

    states: Tensor | None
    last: Tensor


class Recurrence(NamedTuple):
    """How the kernel names a recurrence, its tensors (the sequence first, then the initial states) and its records.

    With ``rebuilt`` the backward pass finds the first record's states again from its last one and the other records.
    """

    name: str
    tensors: tuple[str, ...]
    records: tuple[str, ...] = ("kept",)
    activations: bool = True
    rebuilt: bool = False

    def named(self, tensors: Sequence[Tensor | None], *, driven: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Tensors of the input, and the others; a sequence is a drive, or an input x of U."""
        others = dict(zip(self.tensors, tensors, strict=True))
        sequence, U, b = others.pop("sequence"), others.pop("U"), others.pop("b", None)
        return {"drive" if driven else "x": sequence, "U": U, "b": b}, others


class Problem(NamedTuple):
    """What a scan needs besides the tensors that may have gradients; ``rest`` are further arguments of the kernel."""

    recurrence: Recurrence
    lengths: Tensor | None
    chunk: int | None
    states: bool
    reference: Reference | None
    rest: dict[str, Any]


def scan(problem: Problem, tensors: tuple[Tensor | None, ...]) -> Any:
    """The states of all records, then their last states."""
    if problem.chunk is not None and problem.chunk < 1:
        raise ValueError(f"chunk counts the steps between kept states and must be at least 1, got {problem.chunk}.")
    lengths = problem.lengths
    if lengths is not None:
        if lengths.dtype != torch.int64 or lengths.device.type != "cpu":
            raise ValueError(f"lengths must be int64 on the CPU, got {lengths.dtype} on {lengths.device}.")
        problem = problem._replace(lengths=lengths.detach().contiguous())
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return _KernelScan.apply(problem, *tensors)
    return _forward(problem, tensors, keep=False)[0]


class _KernelScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, problem: Problem, *tensors: Tensor | None) -> Any:
        ctx.set_materialize_grads(False)
        outputs, kept = _forward(problem, tensors, keep=True)
        ctx.problem, ctx.inputs = problem, len(tensors)
        ctx.save_for_backward(*tensors, *kept)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        inputs, kept = ctx.saved_tensors[: ctx.inputs], ctx.saved_tensors[ctx.inputs :]
        if all(g is None for g in gradients):
            return (None,) * (1 + ctx.inputs)
        way = _differentiable if torch.is_grad_enabled() else _backward
        return (None, *way(ctx.problem, inputs, kept, ctx.needs_input_grad[1:], gradients))


def _forward(problem: Problem, tensors: Sequence[Any], *, keep: bool) -> tuple[Any, list[Tensor | None]]:
    """(states, ..., last, ...), and what a backward pass needs of them."""
    plain, recurrence = [_plain(t) for t in tensors], problem.recurrence
    initial = plain[1 : 1 + len(recurrence.records)]
    steps, (shape, dtype) = len(tensors[0]), (initial[0].shape, initial[0].dtype)
    whole = keep and not problem.chunk
    marks = -(-steps // problem.chunk) if keep and problem.chunk else None
    kept = [whole and not (recurrence.rebuilt and i == 0) for i in range(len(initial))]
    states = [empty((steps, *shape), dtype) if problem.states or needed else None for needed in kept]
    points = [None if marks is None else empty((marks, *shape), dtype) for _ in initial]
    activations = empty((steps, *shape), dtype) if whole and recurrence.activations else None
    last = [torch.empty_like(h) for h in initial]
    records = [{"states": s, "checkpoints": c, "last": h} for s, c, h in zip(states, points, last, strict=True)]
    _call("forward", problem, plain, records, activations)
    shown = states if problem.states else [None] * len(states)
    return (*shown, *last), [*states, *points, last[0] if whole and recurrence.rebuilt else None, activations]


def _backward(
    problem: Problem,
    inputs: Sequence[Any],
    kept: Sequence[Any],
    need: Sequence[bool],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The gradients that are needed, by the kernel."""
    plain = [_plain(t) for t in inputs]
    found = [empty(t.shape, t.dtype) if wanted else None for t, wanted in zip(plain, need, strict=True)]
    *states, end, activations = kept
    count = len(problem.recurrence.records)
    whole, last = gradients[:count], gradients[count:]
    records = [
        {"states": s, "checkpoints": c, "g_states": _plain(g), "g_last": _plain(g_last)}
        for s, c, g, g_last in zip(states[:count], states[count:], whole, last, strict=True)
    ]
    records[0]["last"] = end
    g_input, g_others = problem.recurrence.named(found, driven=_driven(problem, plain))
    wanted = {f"g_{name}": g for name, g in g_others.items()}
    _call("backward", problem, plain, records, activations, gradients=module().InputGradients(**g_input), **wanted)
    return found


def _call(
    way: str,
    problem: Problem,
    tensors: Sequence[Tensor | None],
    records: Sequence[dict[str, Any]],
    activations: Tensor | None,
    **gradients: Any,
) -> None:
    """One pass of the kernel; the activations are those of the first record."""
    recurrence, kernel = problem.recurrence, module()
    given, others = recurrence.named(tensors, driven=_driven(problem, tensors))
    common = kernel.Common(**given, lengths=problem.lengths, chunk=problem.chunk or 0, threads=threads())
    first, *further = records
    kept = [kernel.Kept(**first, activations=activations), *(kernel.Kept(**record) for record in further)]
    named = dict(zip(recurrence.records, kept, strict=True))
    getattr(kernel, f"{recurrence.name}_{way}")(common, **others, **problem.rest, **named, **gradients)


def _differentiable(
    problem: Problem,
    inputs: Sequence[Any],
    kept: Sequence[Any],
    need: Sequence[bool],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The same gradients by the caller's reference, so that they can be differentiated again."""
    if problem.reference is None:
        raise RuntimeError("The kernel has no second derivatives: pass a differentiable reference to the scan.")
    found = problem.reference(*inputs)
    states = [found] if isinstance(found, Tensor) else list(found)
    last = [s[-1] if len(s) else h for s, h in zip(states, inputs[1 : 1 + len(states)], strict=True)]
    pairs = [(o, g) for o, g in zip([*states, *last], gradients, strict=True) if g is not None]
    wanted = [t for t, n in zip(inputs, need, strict=True) if n]
    outputs, weights = [o for o, _ in pairs], [g for _, g in pairs]
    slopes = iter(torch.autograd.grad(outputs, wanted, weights, create_graph=True, allow_unused=True))
    return [next(slopes) if n else None for n in need]


def _driven(problem: Problem, tensors: Sequence[Tensor | None]) -> bool:
    return tensors[problem.recurrence.tensors.index("U")] is None


def _plain(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous()
