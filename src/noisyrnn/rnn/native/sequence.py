"""A whole sequence as one node of the graph: the kernel's call forward, and its call backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.dlpack import to_dlpack

from noisyrnn.rnn.lengths import zero_beyond
from noisyrnn.rnn.native.kernel import empty, module, threads
from noisyrnn.sde.brownian import Key


class Scan(NamedTuple):
    """States after each step, (time, batch, units), the state after the last, and the sum over the valid steps.

    Take ``last`` rather than ``states[-1]``, and ``total`` rather than a sum of the states, where only that is used:
    its gradient is small. What was not asked for is None.
    """

    states: Tensor | None
    last: Tensor
    total: Tensor | None = None


class Noise(NamedTuple):
    """Noise as the kernel takes it: 0 for none, 1 for the Ito convention, 2 for the released one."""

    kind: int = 0
    additive: float = 0.0
    multiplicative: float = 0.0
    key: Key = Key(value=0)


class Recurrence(NamedTuple):
    """How the kernel names a recurrence, its tensors (the sequence first, then the initial states) and its records.

    ``reference`` takes a problem and its tensors and gives the states of each record by a loop that torch can
    differentiate any number of times. With ``rebuilt`` the backward pass finds the first record's states again from its
    last one and the other records.
    """

    name: str
    tensors: tuple[str, ...]
    reference: Callable[[Problem, Sequence[Any]], tuple[Tensor, ...]]
    optional: tuple[str, ...] = ("U", "b")
    records: tuple[str, ...] = ("kept",)
    activations: bool = True
    rebuilt: bool = False
    noisy: bool = False

    def named(self, tensors: Sequence[Tensor | None], *, driven: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Tensors of the input, and the others; a sequence is a drive, or an input x of U."""
        others = dict(zip(self.tensors, tensors, strict=True))
        sequence, U, b = others.pop("sequence"), others.pop("U"), others.pop("b", None)
        return {"drive" if driven else "x": sequence, "U": U, "b": b}, others


class Problem(NamedTuple):
    """What a scan needs besides the tensors that may have gradients."""

    recurrence: Recurrence
    lengths: Tensor | None
    chunk: int | None
    states: bool
    noise: Noise = Noise()
    coefficients: Tensor | None = None
    total: bool = False

    @property
    def rest(self) -> dict[str, Any]:
        """Further arguments of the kernel."""
        if self.coefficients is not None:
            return {"coefficients": self.coefficients}
        if not self.recurrence.noisy:
            return {}
        kind, additive, multiplicative, key = self.noise
        numbers = (key.number(), key.stream, key.sample, key.step)
        return {"noise": kind, "additive": additive, "multiplicative": multiplicative, "key": numbers}


class Outputs(NamedTuple):
    """Of each record the states, those kept every chunk steps, and the last; then what the first record alone has, the
    sum of its states over the valid steps and the activations. None is not made.
    """

    states: tuple[Tensor | None, ...]
    points: tuple[Tensor | None, ...]
    last: tuple[Tensor, ...]
    total: Tensor | None
    activations: Tensor | None


def by_kernel(problem: Problem, tensors: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """The states of all records where they are wanted, their last states, the sum; around torch's dispatcher."""
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return _KernelScan.apply(problem, *tensors)
    return shown(problem, forward(problem, tensors, keep=False))


def shown(problem: Problem, outputs: Outputs) -> tuple[Tensor | None, ...]:
    """What the caller sees of them."""
    return (*(outputs.states if problem.states else [None] * len(outputs.states)), *outputs.last, outputs.total)


class _KernelScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, problem: Problem, *tensors: Tensor | None) -> Any:
        ctx.set_materialize_grads(False)
        outputs = forward(problem, tensors, keep=True)
        ctx.problem, ctx.inputs = problem, len(tensors)
        whole, count = not problem.chunk, len(outputs.last)
        rebuilt = whole and problem.recurrence.rebuilt
        last = [h if rebuilt and i == 0 else None for i, h in enumerate(outputs.last)]
        ctx.save_for_backward(*tensors, *outputs.states, *outputs.points, *last, outputs.activations)
        ctx.count = count
        return shown(problem, outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        inputs, kept = ctx.saved_tensors[: ctx.inputs], ctx.saved_tensors[ctx.inputs :]
        if all(g is None for g in gradients):
            return (None,) * (1 + ctx.inputs)
        need, r = ctx.needs_input_grad[1:], ctx.count
        if torch.is_grad_enabled():
            return (None, *differentiable(ctx.problem, inputs, need, gradients))
        outputs = Outputs(kept[:r], kept[r : 2 * r], kept[2 * r : 3 * r], None, kept[-1])
        return (None, *backward(ctx.problem, inputs, outputs, need, gradients))


def forward(problem: Problem, tensors: Sequence[Any], *, keep: bool) -> Outputs:
    """One pass of the kernel; with ``keep`` it makes all that a backward pass needs."""
    plain, recurrence = [_plain(t) for t in tensors], problem.recurrence
    initial = plain[1 : 1 + len(recurrence.records)]
    steps, (shape, dtype) = len(tensors[0]), (initial[0].shape, initial[0].dtype)
    made = wanted(problem, keep=keep)
    marks = -(-steps // problem.chunk) if problem.chunk else 0
    states = tuple(empty((steps, *shape), dtype) if one else None for one in made.states)
    points = tuple(empty((marks, *shape), dtype) if one else None for one in made.points)
    activations = empty((steps, *shape), dtype) if made.activations else None
    last = tuple(torch.empty(h.shape, dtype=dtype) for h in initial)
    total = torch.zeros(shape, dtype=dtype) if problem.total else None
    records: list[dict[str, Any]] = [
        {"states": s, "checkpoints": c, "last": h} for s, c, h in zip(states, points, last, strict=True)
    ]
    records[0]["total"] = total
    _call("forward", problem, plain, records, activations)
    return Outputs(states, points, last, total, activations)


class Wanted(NamedTuple):
    """Which outputs are made."""

    states: tuple[bool, ...]
    points: tuple[bool, ...]
    activations: bool


def wanted(problem: Problem, *, keep: bool) -> Wanted:
    """What a forward pass makes: what is shown, and what a backward pass needs."""
    recurrence, whole = problem.recurrence, keep and not problem.chunk
    places = range(len(recurrence.records))
    states = tuple(problem.states or (whole and not (recurrence.rebuilt and i == 0)) for i in places)
    return Wanted(states, tuple(keep and bool(problem.chunk) for _ in places), whole and recurrence.activations)


def backward(
    problem: Problem, inputs: Sequence[Any], made: Outputs, need: Sequence[bool], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The gradients that are needed, by the kernel."""
    plain = [_plain(t) for t in inputs]
    found = [empty(t.shape, t.dtype) if asked else None for t, asked in zip(plain, need, strict=True)]
    count = len(problem.recurrence.records)
    whole, last, total = gradients[:count], gradients[count : 2 * count], gradients[-1]
    records: list[dict[str, Any]] = [
        {"states": s, "checkpoints": c, "g_states": _plain(g), "g_last": _plain(g_last)}
        for s, c, g, g_last in zip(made.states, made.points, whole, last, strict=True)
    ]
    records[0]["g_total"] = _plain(total)
    if problem.recurrence.rebuilt and not problem.chunk:
        records[0]["last"] = made.last[0]
    g_input, g_others = problem.recurrence.named(found, driven=_driven(problem, plain))
    asked = {f"g_{name}": g for name, g in g_others.items()}
    of_input = module().InputGradients(**_handed(g_input))
    _call("backward", problem, plain, records, made.activations, gradients=of_input, **_handed(asked))
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
    given["lengths"] = problem.lengths
    common = kernel.Common(**_handed(given), chunk=problem.chunk or 0, threads=threads())
    records[0]["activations"] = activations
    named = {name: kernel.Kept(**_handed(record)) for name, record in zip(recurrence.records, records, strict=True)}
    more = _handed(others | problem.rest)
    getattr(kernel, f"{recurrence.name}_{way}")(common, **more, **named, **gradients)


def _handed(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the kernel takes them at once: asked by it, a tensor hands itself over ten times as slowly."""
    return {name: to_dlpack(value) if isinstance(value, Tensor) else value for name, value in arguments.items()}


def differentiable(
    problem: Problem, inputs: Sequence[Any], need: Sequence[bool], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The same gradients by the reference, so that they can be differentiated again."""
    outputs = by_reference(problem, inputs)
    pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if g is not None]
    asked = [t for t, n in zip(inputs, need, strict=True) if n]
    slopes = iter(
        torch.autograd.grad([o for o, _ in pairs], asked, [g for _, g in pairs], create_graph=True, allow_unused=True)
    )
    return [next(slopes) if n else None for n in need]


def by_reference(problem: Problem, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    """The states of all records, their last states (of no steps, the initial ones), and the sum over valid steps."""
    states = problem.recurrence.reference(problem, inputs)
    last = [s[-1] if len(s) else h for s, h in zip(states, inputs[1 : 1 + len(states)], strict=True)]
    return (*states, *last, zero_beyond(states[0], problem.lengths).sum(0))


def _driven(problem: Problem, tensors: Sequence[Tensor | None]) -> bool:
    return tensors[problem.recurrence.tensors.index("U")] is None


def _plain(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous()
