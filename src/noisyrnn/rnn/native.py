r"""Whole sequences by the compiled kernel: the recurrences of the paper, forward and backward, noise included.

    tanh family   h' = h + dt f + noise,   f = A h + tanh(W h + u)           :func:`tanh_scan`
    coRNN         z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z),  y' = y + dt z'    :func:`cornn_scan`
    expRNN        h' = modrelu(Q h + u)                                      :func:`exprnn_scan`

States are rows, sequences are time first: (time, batch, units). The noise follows :mod:`noisyrnn.sde.brownian`, made
inside the kernel and once more in its backward pass, so it is never stored. A sample's states and its own gradients do
not depend on the samples beside it, and no result depends on the number of threads, bit for bit.

Second derivatives are not the kernel's business: when a gradient is itself to be differentiated, the backward pass
calls ``reference``, a differentiable function of the same tensors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.sde.brownian import Key

_native: ModuleType | None
try:
    from noisyrnn import _native  # type: ignore[attr-defined, no-redef, unused-ignore]
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

    ``sequence`` is the input x (time, batch, inputs) if ``U`` is given, u = U x + b, and the drive u (time, batch,
    units) otherwise. Without ``A`` the linear term is absent. With ``gate``, a drive v, the recurrence is
    h' = h + dt sigmoid(W h + v) tanh(W h + u). ``dt`` broadcasts against (time, batch, units) and may vary over units,
    or over time and batch, but not over both. After ``lengths`` steps a sample's state is held. With ``chunk`` only
    every chunk-th state is kept for the backward pass and the rest computed again: pass about sqrt(time), and
    ``states=False`` so that the states themselves are not returned.

    ``reference(sequence, h0, A, W, U, b, gate, dt)`` must return the states; its dt has the shape (units) or
    (time, batch or 1, 1).
    """
    _need_key(convention, key)
    if A is not None and gate is not None:
        raise ValueError("A gated recurrence has no matrix A: pass A=None or gate=None.")
    sequence, U, b = _drive(sequence, U, b, W)
    _check(sequence=sequence, h0=h0, A=A, W=W, U=U, b=b, gate=gate)
    settings = _Settings(
        convention=convention if gate is None else Convention.NONE,
        additive=additive,
        multiplicative=multiplicative,
        key=key,
        lengths=lengths,
        chunk=_chunk(chunk),
        states=states,
        reference=reference,
    )
    tensors = (sequence, h0, A, W, U, b, gate, _step_size(dt, sequence, h0))
    return Scan(*_apply(_TanhScan, tensors, settings))


class _Settings(NamedTuple):
    convention: Convention = Convention.NONE
    additive: float = 0.0
    multiplicative: float = 0.0
    key: Key | None = None
    lengths: Tensor | None = None
    chunk: int = 0
    states: bool = True
    reference: Reference | None = None


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
    _kernel().fill(out, _numbers(key), normal, torch.get_num_threads())
    return out


def _numbers(key: Key | None) -> tuple[int, int, int, int]:
    return (0, 0, 0, 0) if key is None else (key.value, key.stream, key.sample, key.step)


def _empty(shape: Sequence[int], like: Tensor) -> Tensor:
    """Uninitialised; large arrays from the kernel's cache, because fresh pages cost a fault each."""
    if torch.Size(shape).numel() < _CACHED_NUMBERS:
        return torch.empty(shape, dtype=like.dtype)
    return torch.from_dlpack(_kernel().empty(list(shape), like.dtype == torch.float64))


def _need_key(convention: Convention, key: Key | None) -> None:
    if convention is not Convention.NONE and key is None:
        raise ValueError(f"Noise of the convention {convention.name} needs a key; without noise pass Convention.NONE.")


def _chunk(chunk: int | None) -> int:
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk counts the steps between kept states and must be at least 1, got {chunk}.")
    return chunk or 0


def _check(**tensors: Tensor | None) -> None:
    """One clear sentence for what the kernel cannot take; shapes are compared by the kernel itself."""
    first = tensors["h0"]
    if first is None or first.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"The kernel computes in float32 and float64, got {None if first is None else first.dtype}.")
    for name, tensor in tensors.items():
        if tensor is None:
            continue
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ValueError(f"The kernel takes dense CPU tensors; {name} is {tensor.layout} on {tensor.device}.")
        if tensor.dtype != first.dtype:
            raise ValueError(f"All tensors must have one dtype; h0 has {first.dtype} and {name} has {tensor.dtype}.")


def _drive(
    sequence: Tensor, U: Tensor | None, b: Tensor | None, W: Tensor
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    if U is None and b is not None:
        raise ValueError("A bias b needs the matrix U; a drive already contains it.")
    for name, tensor in (("sequence", sequence), ("W", W)):
        axes = 3 if name == "sequence" else 2
        if tensor.ndim != axes:
            raise ValueError(f"{name} must have {axes} axes, got the shape {tuple(tensor.shape)}.")
    if U is None or sequence.shape[2] <= _FEW_INPUTS:
        return sequence, U, b
    if U.shape != (W.shape[0], sequence.shape[2]):
        raise ValueError(f"U must have the shape {(W.shape[0], sequence.shape[2])}, got {tuple(U.shape)}.")
    return torch.nn.functional.linear(sequence, U, b), None, None


def _step_size(dt: Tensor | float, sequence: Tensor, h0: Tensor) -> Tensor:
    """dt as (units), or as (time, batch or 1)."""
    if h0.ndim != 2:
        raise ValueError(f"The initial state must have the shape (batch, units), got {tuple(h0.shape)}.")
    steps, (batch, units) = sequence.shape[0], h0.shape
    step = torch.as_tensor(dt, dtype=h0.dtype, device=h0.device) if not isinstance(dt, Tensor) else dt
    if step.dtype != h0.dtype:
        raise ValueError(f"All tensors must have one dtype; h0 has {h0.dtype} and dt has {step.dtype}.")
    full = (1,) * (3 - step.ndim) + tuple(step.shape)
    fits = len(full) == 3 and all(a in (1, b) for a, b in zip(full, (steps, batch, units), strict=True))
    if fits and full[0] == full[1] == 1:
        return step.reshape(-1).expand(units)
    if fits and full[2] == 1:
        return step.reshape(full[:2]).expand(steps, full[1])
    raise ValueError(
        f"dt must broadcast against (time, batch, units) = {(steps, batch, units)} and vary over units or over time "
        f"and batch, not both; got the shape {tuple(step.shape)}."
    )


def _plain(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().contiguous()


def _wanted(like: Tensor | None, want: bool) -> Tensor | None:
    return _empty(like.shape, like) if want and like is not None else None


def _apply(function: Any, tensors: tuple[Tensor | None, ...], settings: _Settings) -> Any:
    kernel = _kernel()
    if settings.lengths is not None:
        if settings.lengths.dtype != torch.int64 or settings.lengths.device.type != "cpu":
            raise ValueError(f"lengths must be an int64 tensor on the CPU, got {settings.lengths.dtype}.")
        settings = settings._replace(lengths=settings.lengths.contiguous())
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return function.apply(settings, *tensors)
    plain = tuple(_plain(t) for t in tensors)
    outputs, _ = function.compute(kernel, plain, settings, keep=False)
    return outputs


def _second_order(ctx: Any, outputs: Callable[..., Sequence[Tensor]], gradients: Sequence[Tensor | None]) -> Any:
    """The same gradient by the caller's differentiable function, so that it can be differentiated again."""
    settings: _Settings = ctx.settings
    if settings.reference is None:
        raise RuntimeError("The kernel has no second derivatives: pass a differentiable reference to the scan.")
    inputs = list(ctx.saved_tensors[: ctx.inputs])
    pairs = [(o, g) for o, g in zip(outputs(settings.reference, inputs), gradients, strict=True) if g is not None]
    wanted = [t for t, need in zip(inputs, ctx.needs_input_grad[1:], strict=True) if need]
    found = iter(
        torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True)
    )
    return (None, *(next(found) if need else None for need in ctx.needs_input_grad[1:]))


class _TanhScan(torch.autograd.Function):
    @staticmethod
    def common(kernel: Any, tensors: Sequence[Tensor | None], settings: _Settings) -> Any:
        sequence, _, _, _, U, b, _, _ = tensors
        drive, x = (sequence, None) if U is None else (None, sequence)
        return kernel.Common(
            drive=drive,
            x=x,
            U=U,
            b=b,
            lengths=settings.lengths,
            chunk=settings.chunk,
            threads=torch.get_num_threads(),
        )

    @staticmethod
    def arguments(tensors: Sequence[Tensor | None], settings: _Settings) -> dict[str, Any]:
        _, h0, A, W, _, _, gate, dt = tensors
        return {
            "h0": h0,
            "A": A,
            "W": W,
            "gate": gate,
            "dt": dt,
            "noise": int(settings.convention),
            "additive": settings.additive,
            "multiplicative": settings.multiplicative,
            "key": _numbers(settings.key),
        }

    @staticmethod
    def compute(
        kernel: Any, tensors: Sequence[Any], settings: _Settings, *, keep: bool
    ) -> tuple[tuple[Tensor | None, Tensor], dict[str, Tensor | None]]:
        sequence, h0 = tensors[:2]
        shape = (sequence.shape[0], *h0.shape)
        whole = keep and not settings.chunk
        kept: dict[str, Tensor | None] = {
            "states": _empty(shape, h0) if settings.states or whole else None,
            "activations": _empty(shape, h0) if whole else None,
            "checkpoints": None,
        }
        if keep and settings.chunk:
            kept["checkpoints"] = _empty((-(-shape[0] // settings.chunk), *h0.shape), h0)
        last = torch.empty_like(h0)
        kernel.tanh_forward(
            _TanhScan.common(kernel, tensors, settings),
            **_TanhScan.arguments(tensors, settings),
            kept=kernel.Kept(**kept, last=last),
        )
        return (kept["states"] if settings.states else None, last), kept

    @staticmethod
    def forward(ctx: Any, settings: _Settings, *tensors: Tensor | None) -> tuple[Tensor | None, Tensor]:
        ctx.set_materialize_grads(False)
        outputs, kept = _TanhScan.compute(_kernel(), tuple(_plain(t) for t in tensors), settings, keep=True)
        ctx.settings, ctx.inputs = settings, len(tensors)
        ctx.save_for_backward(*tensors, kept["states"], kept["activations"], kept["checkpoints"])
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        if all(g is None for g in gradients):
            return (None,) * (1 + ctx.inputs)
        if torch.is_grad_enabled():
            return _second_order(ctx, _TanhScan.outputs, gradients)
        kernel, settings = _kernel(), ctx.settings
        tensors = [_plain(t) for t in ctx.saved_tensors[: ctx.inputs]]
        states, activations, checkpoints = ctx.saved_tensors[ctx.inputs :]
        need = ctx.needs_input_grad[1:]
        g_sequence, g_h0, g_A, g_W, g_U, g_b, g_gate, g_dt = (
            _wanted(t, wanted) for t, wanted in zip(tensors, need, strict=True)
        )
        sequence, h0, _, _, U, _, _, dt = tensors
        if need[7] and dt.ndim == 2:
            g_dt = torch.empty((sequence.shape[0], h0.shape[0]), dtype=h0.dtype)
        g_states, g_last = (_plain(g) for g in gradients)
        kernel.tanh_backward(
            _TanhScan.common(kernel, tensors, settings),
            **_TanhScan.arguments(tensors, settings),
            kept=kernel.Kept(
                states=states, activations=activations, checkpoints=checkpoints, g_states=g_states, g_last=g_last
            ),
            gradients=kernel.InputGradients(
                drive=g_sequence if U is None else None, x=None if U is None else g_sequence, U=g_U, b=g_b
            ),
            g_h0=g_h0,
            g_A=g_A,
            g_W=g_W,
            g_gate=g_gate,
            g_dt=g_dt,
        )
        if need[7] and dt.ndim == 2 and dt.shape[1] == 1:
            g_dt = g_dt.sum(1, keepdim=True)
        return None, g_sequence, g_h0, g_A, g_W, g_U, g_b, g_gate, g_dt

    @staticmethod
    def outputs(reference: Reference, inputs: list[Any]) -> list[Tensor]:
        *rest, dt = inputs
        states = reference(*rest, dt if dt.ndim == 1 else dt.unsqueeze(-1))
        return [states, states[-1] if len(states) else inputs[1]]
