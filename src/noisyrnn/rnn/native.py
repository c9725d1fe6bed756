r"""Whole sequences by the compiled kernel: the recurrences of the paper and their gradients, noise included.

    tanh family   h' = h + dt f + noise,   f = A h + tanh(W h + u)           :func:`tanh_scan`
    coRNN         z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z),  y' = y + dt z'    :func:`cornn_scan`
    expRNN        h' = modrelu(Q h + u)                                      :func:`exprnn_scan`

States are rows, sequences are time first: (time, batch, units). The noise follows
:mod:`noisyrnn.sde.brownian`, made inside the kernel and once more in its backward pass, so it is never
stored. A sample's states and its own gradients do not depend on the samples beside it, and no result depends
on the number of threads, bit for bit.

Second derivatives are not the kernel's business: when a gradient is itself to be differentiated, the backward
pass calls ``reference``, a differentiable function of the same tensors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import IntEnum
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.sde.brownian import Key

_native: ModuleType | None
try:
    _native = import_module("noisyrnn._native")
except ImportError as error:
    _native = None
    _missing = "the kernel was not compiled" if "_native" in str(error) else f"the kernel cannot be loaded ({error})"

_FEW_INPUTS = 8  # up to here U x + b costs less inside the kernel than a drive costs memory
_CACHED_NUMBERS = 1 << 16  # smaller arrays are no trouble for torch's allocator

Reference = Callable[..., Any]


class Convention(IntEnum):
    """Which noise enters the tanh recurrence.

    ``NONE``      h' = h + dt f
    ``ITO``       h' = h + dt f + sqrt(dt) (additive + multiplicative f) xi
    ``RELEASED``  h' = h + dt (1 - multiplicative + multiplicative U) f + additive xi,  U uniform in [0, 1)
    """

    NONE = 0
    ITO = 1
    RELEASED = 2


class Scan(NamedTuple):
    """States after each step, (time, batch, units), and the state after the last, (batch, units).

    Take ``last`` rather than ``states[-1]`` where only that is used: its gradient is small.
    """

    states: Tensor | None
    last: Tensor


class OscillatorScan(NamedTuple):
    """Positions y and velocities z after each step, and after the last."""

    y: Tensor | None
    z: Tensor | None
    last_y: Tensor
    last_z: Tensor


def available() -> bool:
    """Whether the kernel is compiled and not switched off by ``NOISYRNN_NATIVE=0``."""
    return _native is not None and os.environ.get("NOISYRNN_NATIVE", "1") != "0"


def status() -> str:
    """One sentence: the instruction set in use, or why there is none."""
    if _native is None:
        return f"Native kernel off: {_missing}."
    if not available():
        return "Native kernel off: NOISYRNN_NATIVE=0 is set."
    return f"Native kernel on: {_native.instruction_set} instructions."


def threads() -> int:
    """Threads of the kernel: ``NOISYRNN_THREADS`` if it is set, else torch's own number.

    No result of the kernel depends on it. torch's products (a readout's, say) may differ in the last bit with torch's
    number of threads; with one thread for torch and several for the kernel, training is bitwise the same for any.
    """
    wanted = os.environ.get("NOISYRNN_THREADS")
    if wanted is None:
        return torch.get_num_threads()
    if not wanted.isdigit() or int(wanted) < 1:
        raise ValueError(f"NOISYRNN_THREADS must be a whole number of at least 1, got {wanted!r}.")
    return int(wanted)


def gaussian(key: Key, samples: int, steps: int, units: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """xi ~ N(0, 1), (steps, samples, units): :func:`noisyrnn.sde.brownian.draw`, faster."""
    return _noise(key, samples, steps, units, dtype, True)


def uniform(key: Key, samples: int, steps: int, units: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """U in [0, 1), (steps, samples, units): :func:`noisyrnn.sde.brownian.uniform`, faster."""
    return _noise(key, samples, steps, units, dtype, False)


def tanh_scan(
    sequence: Tensor,
    h0: Tensor,
    A: Tensor | None,
    W: Tensor,
    U: Tensor | None,
    b: Tensor | None,
    dt: Tensor | float,
    *,
    convention: Convention = Convention.NONE,
    additive: float = 0.0,
    multiplicative: float = 0.0,
    key: Key | None = None,
    gate: Tensor | None = None,
    lengths: Tensor | None = None,
    chunk: int | None = None,
    states: bool = True,
    reference: Reference | None = None,
) -> Scan:
    """h' = h + dt (A h + tanh(W h + u)) + noise, for all steps.

    ``sequence`` is the input x (time, batch, inputs) if ``U`` is given, u = U x + b, and the drive u (time,
    batch, units) otherwise. Without ``A`` the linear term is absent. With ``gate``, a drive v, the recurrence
    is h' = h + dt sigmoid(W h + v) tanh(W h + u). ``dt`` broadcasts against (time, batch, units) and may vary
    over units, or over time and batch, but not over both. After ``lengths`` steps a sample's state is held.
    With ``chunk`` only every chunk-th state is kept for the backward pass and the rest computed again: pass
    about sqrt(time), and ``states=False`` so that the states themselves are not returned.

    ``reference(sequence, h0, A, W, U, b, gate, dt)`` must return the states; its dt has the shape (units) or
    (time, batch or 1, 1).
    """
    if convention is not Convention.NONE and key is None:
        raise ValueError(f"Noise of the convention {convention.name} needs a key; without noise pass Convention.NONE.")
    if gate is not None and (A is not None or convention is not Convention.NONE):
        raise ValueError("A gated recurrence has neither a matrix A nor noise: pass A=None and Convention.NONE.")
    _check(sequence=sequence, h0=h0, A=A, W=W, U=U, b=b, gate=gate)
    sequence, U, b = _drive(sequence, U, b, h0)
    noise = {
        "noise": int(convention),
        "additive": additive,
        "multiplicative": multiplicative,
        "key": _numbers(key),
    }
    settings = _Settings(_Tanh, lengths, chunk, states, reference, noise)
    return Scan(*_apply(settings, (sequence, h0, A, W, U, b, gate, _step_size(dt, sequence, h0))))


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
    :func:`tanh_scan`; ``reference(sequence, y0, z0, Wy, Wz, U, b)`` must return the states of y and of z.
    """
    _check(sequence=sequence, h0=y0, z0=z0, Wy=Wy, Wz=Wz, U=U, b=b)
    sequence, U, b = _drive(sequence, U, b, y0)
    step, pull, damping = (_constant(name, c, y0) for name, c in (("dt", dt), ("gamma", gamma), ("eps", eps)))
    shrink = 1 / (1 + step * damping) if implicit else torch.ones_like(step)
    keep = shrink if implicit else 1 - step * damping
    rest = {"coefficients": torch.stack((keep, step * shrink, step * pull * shrink, step))}
    settings = _Settings(_Oscillator, lengths, chunk, states, reference, rest)
    return OscillatorScan(*_apply(settings, (sequence, y0, z0, Wy, Wz, U, b)))


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

    At v = 0 value and gradient are 0. The other arguments are those of :func:`tanh_scan`;
    ``reference(sequence, h0, Q, bias, U)`` must return the states.
    """
    _check(sequence=sequence, h0=h0, Q=Q, bias=bias, U=U)
    sequence, U, _ = _drive(sequence, U, None, h0)
    settings = _Settings(_ModRelu, lengths, chunk, states, reference, {})
    return Scan(*_apply(settings, (sequence, h0, Q, bias, U)))


class _Settings(NamedTuple):
    """What a scan needs besides the tensors that may have gradients."""

    model: Any
    lengths: Tensor | None
    chunk: int | None
    states: bool
    reference: Reference | None
    rest: dict[str, Any]


def _kernel() -> Any:
    if _native is None or not available():
        raise RuntimeError(status())
    return _native


def _noise(key: Key, samples: int, steps: int, units: int, dtype: torch.dtype, normal: bool) -> Tensor:
    if min(samples, steps, units) < 0:
        raise ValueError(f"Noise needs sizes of at least 0, got samples={samples}, steps={steps}, units={units}.")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"The kernel makes noise in float32 and float64, got {dtype}.")
    out = torch.empty((steps, samples, units), dtype=dtype)
    _kernel().fill(out, _numbers(key), normal, threads())
    return out


def _numbers(key: Key | None) -> tuple[int, int, int, int]:
    return (0, 0, 0, 0) if key is None else (key.value, key.stream, key.sample, key.step)


def _check(*, sequence: Tensor, h0: Tensor, **others: Tensor | None) -> None:
    """One clear sentence for what the kernel cannot take; the kernel itself compares shapes once more."""
    state = h0
    if state.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"The kernel computes in float32 and float64, got {state.dtype}.")
    if state.ndim != 2 or sequence.ndim != 3 or sequence.shape[1] != state.shape[0]:
        raise ValueError(
            "A scan takes a sequence (time, batch, features) and a state (batch, units), "
            f"got the shapes {tuple(sequence.shape)} and {tuple(state.shape)}."
        )
    for name, tensor in {"sequence": sequence, "h0": h0, **others}.items():
        if tensor is None:
            continue
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ValueError(f"The kernel takes dense CPU tensors; {name} is {tensor.layout} on {tensor.device}.")
        if tensor.dtype != state.dtype:
            raise ValueError(f"All tensors must have one dtype; the state has {state.dtype}, {name} {tensor.dtype}.")


def _drive(
    sequence: Tensor, U: Tensor | None, b: Tensor | None, state: Tensor
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Few inputs go to the kernel as they are; many become a drive by one large product."""
    if U is None:
        if b is not None:
            raise ValueError("A bias b needs the matrix U; a drive already contains it.")
        return sequence, None, None
    if U.shape != (state.shape[1], sequence.shape[2]):
        raise ValueError(f"U must have the shape {(state.shape[1], sequence.shape[2])}, got {tuple(U.shape)}.")
    if sequence.shape[2] <= _FEW_INPUTS:
        return sequence, U, b
    return torch.nn.functional.linear(sequence, U, b), None, None


def _step_size(dt: Tensor | float, sequence: Tensor, state: Tensor) -> Tensor:
    """dt as (units), or as (time, batch or 1)."""
    steps, (batch, units) = sequence.shape[0], state.shape
    step = dt if isinstance(dt, Tensor) else torch.tensor(dt, dtype=state.dtype)
    if step.dtype != state.dtype or step.device.type != "cpu":
        raise ValueError(f"dt must be {state.dtype} on the CPU like the state, got {step.dtype} on {step.device}.")
    full = (1,) * (3 - step.ndim) + tuple(step.shape)
    fits = len(full) == 3 and all(a in (1, b) for a, b in zip(full, (steps, batch, units), strict=True))
    if fits and full[0] == full[1] == 1:
        return step.reshape(-1).expand(units)
    if fits and full[2] == 1:
        return step.reshape(full[:2]).expand(steps, full[1])
    raise ValueError(
        f"dt must broadcast against (time, batch, units) = {(steps, batch, units)} and vary over units or "
        f"over time and batch, not both; got the shape {tuple(step.shape)}."
    )


def _constant(name: str, value: Tensor | float, state: Tensor) -> Tensor:
    tensor = torch.as_tensor(value, dtype=state.dtype, device=state.device)
    if tensor.requires_grad:
        raise ValueError(f"The kernel has no gradient for {name}: detach it, or use the reference scan.")
    if tensor.ndim > 1 or tensor.numel() not in (1, state.shape[1]):
        raise ValueError(f"{name} must be a scalar or have one number for each unit, got {tuple(tensor.shape)}.")
    return tensor.reshape(-1).expand(state.shape[1])


def _plain(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().contiguous()


def _empty(shape: Sequence[int], like: Tensor) -> Tensor:
    """Uninitialised; large arrays from the kernel's cache, because fresh pages cost a fault each."""
    if torch.Size(shape).numel() < _CACHED_NUMBERS:
        return torch.empty(shape, dtype=like.dtype)
    return torch.from_dlpack(_kernel().empty(list(shape), like.dtype == torch.float64))


def _apply(settings: _Settings, tensors: tuple[Tensor | None, ...]) -> Any:
    if settings.chunk is not None and settings.chunk < 1:
        raise ValueError(f"chunk counts the steps between kept states and must be at least 1, got {settings.chunk}.")
    lengths = settings.lengths
    if lengths is not None:
        if lengths.dtype != torch.int64 or lengths.device.type != "cpu":
            raise ValueError(f"lengths must be int64 on the CPU, got {lengths.dtype} on {lengths.device}.")
        settings = settings._replace(lengths=lengths.detach().contiguous())
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return _KernelScan.apply(settings, *tensors)
    return _forward(settings, tensors, keep=False)[0]


def _common(settings: _Settings, sequence: Tensor, U: Tensor | None, b: Tensor | None) -> Any:
    return _kernel().Common(
        drive=sequence if U is None else None,
        x=None if U is None else sequence,
        U=U,
        b=b,
        lengths=settings.lengths,
        chunk=settings.chunk or 0,
        threads=threads(),
    )


def _input_gradients(U: Tensor | None, g_sequence: Tensor | None, g_U: Tensor | None, g_b: Tensor | None) -> Any:
    return _kernel().InputGradients(
        drive=g_sequence if U is None else None, x=None if U is None else g_sequence, U=g_U, b=g_b
    )


def _forward(settings: _Settings, tensors: Sequence[Any], *, keep: bool) -> tuple[Any, list[Tensor | None]]:
    """(states, ..., last, ...), and what a backward pass needs of them."""
    plain = [_plain(t) for t in tensors]
    sequence, model = tensors[0], settings.model
    initial = plain[1 : 1 + model.states]
    shape = (sequence.shape[0], *initial[0].shape)
    whole, marks = keep and not settings.chunk, keep and settings.chunk is not None
    states = [_empty(shape, h) if settings.states or whole else None for h in initial]
    activations = _empty(shape, initial[0]) if whole and model.activations else None
    points = [_empty((-(-shape[0] // settings.chunk), *h.shape), h) if marks else None for h in initial]
    last = [torch.empty_like(h) for h in initial]
    kept = [
        _kernel().Kept(states=s, activations=activations if i == 0 else None, checkpoints=c, last=h)
        for i, (s, c, h) in enumerate(zip(states, points, last, strict=True))
    ]
    model.forward(settings, plain, kept)
    shown = states if settings.states else [None] * len(states)
    return (*shown, *last), [*states, *points, activations]


class _KernelScan(torch.autograd.Function):
    """A whole sequence as one node of the graph."""

    @staticmethod
    def forward(ctx: Any, settings: _Settings, *tensors: Tensor | None) -> Any:
        ctx.set_materialize_grads(False)
        outputs, kept = _forward(settings, tensors, keep=True)
        ctx.settings, ctx.inputs = settings, len(tensors)
        ctx.save_for_backward(*tensors, *kept)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        need, settings, model = ctx.needs_input_grad[1:], ctx.settings, ctx.settings.model
        inputs, kept = ctx.saved_tensors[: ctx.inputs], ctx.saved_tensors[ctx.inputs :]
        if all(g is None for g in gradients):
            return (None,) * (1 + ctx.inputs)
        if torch.is_grad_enabled():
            return (None, *_differentiable(settings, inputs, need, gradients))
        plain, k = [_plain(t) for t in inputs], model.states
        g = [_plain(g) for g in gradients]
        records = [
            _kernel().Kept(
                states=kept[i],
                checkpoints=kept[k + i],
                activations=kept[2 * k] if i == 0 else None,
                g_states=g[i],
                g_last=g[k + i],
            )
            for i in range(k)
        ]
        found = [_empty(t.shape, t) if wanted else None for t, wanted in zip(plain, need, strict=True)]
        return (None, *model.backward(settings, plain, records, found))


def _differentiable(
    settings: _Settings, inputs: Sequence[Any], need: Sequence[bool], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The same gradients by the caller's reference, so that they can be differentiated again."""
    if settings.reference is None:
        raise RuntimeError("The kernel has no second derivatives: pass a differentiable reference to the scan.")
    model = settings.model
    states = model.refer(settings.reference, inputs)
    last = [s[-1] if len(s) else h for s, h in zip(states, inputs[1 : 1 + model.states], strict=True)]
    pairs = [(o, g) for o, g in zip([*states, *last], gradients, strict=True) if g is not None]
    wanted = [t for t, n in zip(inputs, need, strict=True) if n]
    outputs, weights = [o for o, _ in pairs], [g for _, g in pairs]
    found = iter(torch.autograd.grad(outputs, wanted, weights, create_graph=True, allow_unused=True))
    return [next(found) if n else None for n in need]


class _Tanh:
    states, activations = 1, True

    @staticmethod
    def arguments(settings: _Settings, tensors: Sequence[Any]) -> dict[str, Any]:
        _, h0, A, W, _, _, gate, dt = tensors
        return {"h0": h0, "A": A, "W": W, "gate": gate, "dt": dt, **settings.rest}

    @staticmethod
    def forward(settings: _Settings, tensors: Sequence[Any], kept: list[Any]) -> None:
        common = _common(settings, tensors[0], tensors[4], tensors[5])
        _kernel().tanh_forward(common, **_Tanh.arguments(settings, tensors), kept=kept[0])

    @staticmethod
    def backward(settings: _Settings, tensors: Sequence[Any], kept: list[Any], found: list[Any]) -> list[Any]:
        sequence, h0, _, _, U, b, _, dt = tensors
        g_sequence, g_h0, g_A, g_W, g_U, g_b, g_gate, g_dt = found
        if g_dt is not None and dt.ndim == 2:
            g_dt = torch.empty((len(sequence), len(h0)), dtype=h0.dtype)
        _kernel().tanh_backward(
            _common(settings, sequence, U, b),
            **_Tanh.arguments(settings, tensors),
            kept=kept[0],
            gradients=_input_gradients(U, g_sequence, g_U, g_b),
            g_h0=g_h0,
            g_A=g_A,
            g_W=g_W,
            g_gate=g_gate,
            g_dt=g_dt,
        )
        if g_dt is not None and dt.ndim == 2 and dt.shape[1] == 1:
            g_dt = g_dt.sum(1, keepdim=True)
        return [*found[:-1], g_dt]

    @staticmethod
    def refer(reference: Reference, inputs: Sequence[Any]) -> list[Tensor]:
        *rest, dt = inputs
        return [reference(*rest, dt if dt.ndim == 1 else dt.unsqueeze(-1))]


class _Oscillator:
    states, activations = 2, True

    @staticmethod
    def forward(settings: _Settings, tensors: Sequence[Any], kept: list[Any]) -> None:
        sequence, y0, z0, Wy, Wz, U, b = tensors
        _kernel().oscillator_forward(
            _common(settings, sequence, U, b),
            y0=y0,
            z0=z0,
            Wy=Wy,
            Wz=Wz,
            **settings.rest,
            y=kept[0],
            z=kept[1],
        )

    @staticmethod
    def backward(settings: _Settings, tensors: Sequence[Any], kept: list[Any], found: list[Any]) -> list[Any]:
        sequence, y0, z0, Wy, Wz, U, b = tensors
        g_sequence, g_y0, g_z0, g_Wy, g_Wz, g_U, g_b = found
        _kernel().oscillator_backward(
            _common(settings, sequence, U, b),
            y0=y0,
            z0=z0,
            Wy=Wy,
            Wz=Wz,
            **settings.rest,
            y=kept[0],
            z=kept[1],
            gradients=_input_gradients(U, g_sequence, g_U, g_b),
            g_y0=g_y0,
            g_z0=g_z0,
            g_Wy=g_Wy,
            g_Wz=g_Wz,
        )
        return found

    @staticmethod
    def refer(reference: Reference, inputs: Sequence[Any]) -> list[Tensor]:
        return list(reference(*inputs))


class _ModRelu:
    states, activations = 1, False

    @staticmethod
    def forward(settings: _Settings, tensors: Sequence[Any], kept: list[Any]) -> None:
        sequence, h0, Q, bias, U = tensors
        _kernel().modrelu_forward(_common(settings, sequence, U, None), h0=h0, Q=Q, bias=bias, kept=kept[0])

    @staticmethod
    def backward(settings: _Settings, tensors: Sequence[Any], kept: list[Any], found: list[Any]) -> list[Any]:
        sequence, h0, Q, bias, U = tensors
        g_sequence, g_h0, g_Q, g_bias, g_U = found
        _kernel().modrelu_backward(
            _common(settings, sequence, U, None),
            h0=h0,
            Q=Q,
            bias=bias,
            kept=kept[0],
            gradients=_input_gradients(U, g_sequence, g_U, None),
            g_h0=g_h0,
            g_Q=g_Q,
            g_bias=g_bias,
        )
        return found

    @staticmethod
    def refer(reference: Reference, inputs: Sequence[Any]) -> list[Tensor]:
        return [reference(*inputs)]
