"""Plain loops in torch, one step after the other: what the kernel has to equal, and how closely."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from noisyrnn.rnn import native
from noisyrnn.sde import Convention, brownian
from noisyrnn.sde.brownian import Key

KEY = Key(value=0x1234_5678_9ABC_DEF0, stream=2, sample=3, step=4)
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}

needs_kernel = pytest.mark.skipif(not native.available(), reason=native.status())
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
sizes = pytest.mark.parametrize(
    ("steps", "batch", "units"),
    [(1, 1, 1), (2, 33, 7), (5, 3, 127), (4, 33, 129), (0, 4, 5), (3, 2, 16), (20, 1, 33)],
)


def assert_close(found: Tensor | None, expected: Tensor | None, name: str = "") -> None:
    """Equal relative to the largest number, which is what a sum of many terms can promise."""
    assert (found is None) == (expected is None), name
    if found is None or expected is None:
        return
    assert found.shape == expected.shape, name
    found, expected = found.detach(), expected.detach()
    scale = max(float(expected.abs().max()), 1e-3) if expected.numel() else 1.0
    error = float((found - expected).abs().max()) / scale if expected.numel() else 0.0
    assert error < TOLERANCE[expected.dtype], f"{name}: relative error {error}"


def numbers(shape: tuple[int, ...], seed: int, dtype: torch.dtype, scale: float = 1.0) -> Tensor:
    return (scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)


def held(new: Tensor, old: Tensor, t: int, lengths: Tensor | None) -> Tensor:
    return new if lengths is None else torch.where((t < lengths)[:, None], new, old)


def tanh_loop(
    sequence: Tensor,
    h0: Tensor,
    A: Tensor | None,
    W: Tensor,
    U: Tensor | None,
    b: Tensor | None,
    gate: Tensor | None,
    dt: Tensor,
    *,
    convention: Convention | None = None,
    additive: float = 0.0,
    multiplicative: float = 0.0,
    key: Key = KEY,
    lengths: Tensor | None = None,
) -> Tensor:
    """The definition, one step after the other."""
    steps, (batch, units) = len(sequence), h0.shape
    xi = brownian.draw(key, batch, steps, units, dtype=h0.dtype)
    factor = brownian.uniform(key, batch, steps, units, dtype=h0.dtype)
    u = sequence if U is None else torch.nn.functional.linear(sequence, U, b)
    dts = dt.expand(steps, batch, units)
    h, states = h0, []
    for t in range(steps):
        z = h @ W.T
        f = torch.tanh(z + u[t])
        if gate is not None:
            f = f * torch.sigmoid(z + gate[t])
        if A is not None:
            f = f + h @ A.T
        if convention is Convention.ITO:
            new = h + dts[t] * f + dts[t].sqrt() * (additive + multiplicative * f) * xi[t]
        elif convention is Convention.RELEASED:
            new = h + dts[t] * (1 - multiplicative + multiplicative * factor[t]) * f + additive * xi[t]
        else:
            new = h + dts[t] * f
        h = held(new, h, t, lengths)
        states.append(h)
    return torch.stack(states) if states else h0.new_empty((0, batch, units)) + 0 * h0.sum()


def cornn_loop(
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
) -> tuple[Tensor, Tensor]:
    u = sequence if U is None else torch.nn.functional.linear(sequence, U, b)
    y, z, ys, zs = y0, z0, [], []
    for t in range(len(u)):
        push = torch.tanh(y @ Wy.T + z @ Wz.T + u[t]) - gamma * y
        new_z = (z + dt * push) / (1 + dt * eps) if implicit else z + dt * (push - eps * z)
        z = held(new_z, z, t, lengths)
        y = held(y + dt * new_z, y, t, lengths)
        ys.append(y)
        zs.append(z)
    empty = y0.new_empty((0, *y0.shape))
    return (torch.stack(ys), torch.stack(zs)) if ys else (empty, empty)


def modrelu_loop(
    sequence: Tensor, h0: Tensor, Q: Tensor, bias: Tensor, U: Tensor | None, *, lengths: Tensor | None = None
) -> Tensor:
    u = sequence if U is None else sequence @ U.T
    h, states = h0, []
    for t in range(len(u)):
        v = h @ Q.T + u[t]
        h = held(torch.sign(v) * torch.relu(v.abs() + bias), h, t, lengths)
        states.append(h)
    return torch.stack(states) if states else h0.new_empty((0, *h0.shape))


def leaves(*tensors: Tensor | None) -> list[Any]:
    return [None if t is None else t.requires_grad_() for t in tensors]


def assert_same(found: list[Tensor | None], expected: list[Tensor], tensors: list[Tensor | None]) -> None:
    """Values, and the gradients of a random weighting of all of them."""
    pairs = [(f, e) for f, e in zip(found, expected, strict=True) if f is not None]
    for i, (f, e) in enumerate(pairs):
        assert_close(f, e, f"output {i}")
    live = [t for t in tensors if t is not None]
    results = []
    for side in (0, 1):
        terms = [(p[side] * numbers(tuple(p[side].shape), 20 + i, p[side].dtype)).sum() for i, p in enumerate(pairs)]
        loss = torch.stack(terms).sum()
        results.append(torch.autograd.grad(loss, live, allow_unused=True, retain_graph=True))
    for i, (ours, theirs) in enumerate(zip(*results, strict=True)):
        zero = torch.zeros_like(live[i])
        assert_close(zero if ours is None else ours, zero if theirs is None else theirs, f"gradient {i}")
