"""What a scan takes: tensors that the kernel can read, or one sentence that says what is wrong with them."""

from __future__ import annotations

import torch
from torch import Tensor

_FEW_INPUTS = 8  # up to here U x + b costs less inside the kernel than a drive costs memory


def check(*, sequence: Tensor, h0: Tensor, **others: Tensor | None) -> None:
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


def drive(
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


def step_size(dt: Tensor | float, sequence: Tensor, state: Tensor) -> Tensor:
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
        # The kernel's gradient of dt has a number for each sample; torch adds those of an expanded one up.
        return step.reshape(full[:2]).expand(steps, batch if step.requires_grad else full[1])
    raise ValueError(
        f"dt must broadcast against (time, batch, units) = {(steps, batch, units)} and vary over units or "
        f"over time and batch, not both; got the shape {tuple(step.shape)}."
    )


def constant(name: str, value: Tensor | float, state: Tensor) -> Tensor:
    """The value for each unit."""
    tensor = torch.as_tensor(value, dtype=state.dtype, device=state.device)
    if tensor.requires_grad:
        raise ValueError(f"The kernel has no gradient for {name}: detach it, or use the reference scan.")
    if tensor.ndim > 1 or tensor.numel() not in (1, state.shape[1]):
        raise ValueError(f"{name} must be a scalar or have one number for each unit, got {tuple(tensor.shape)}.")
    return tensor.reshape(-1).expand(state.shape[1])
