"""coRNN and expRNN by the kernel equal their loops, in values and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import assert_close, assert_same, cornn_loop, dtypes, leaves, modrelu_loop, needs_kernel, numbers, sizes

from noisyrnn.rnn import native
from noisyrnn.rnn.lengths import zero_beyond

pytestmark = needs_kernel


@dtypes
@sizes
@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("inputs", [None, 2])
def test_cornn_equals_the_loop(
    dtype: torch.dtype, steps: int, batch: int, units: int, implicit: bool, inputs: int | None
) -> None:
    scale = 0.7 / units**0.5
    tensors = leaves(
        numbers((steps, batch, units if inputs is None else inputs), 0, dtype),
        numbers((batch, units), 1, dtype),
        numbers((batch, units), 2, dtype),
        numbers((units, units), 3, dtype, scale),
        numbers((units, units), 4, dtype, scale),
        None if inputs is None else numbers((units, inputs), 5, dtype),
        None if inputs is None else numbers((units,), 6, dtype),
    )
    unit = {"dt": 0.1, "gamma": 0.5 + numbers((units,), 7, dtype).abs(), "eps": 2.0}
    for lengths in (None, torch.arange(batch) % (steps + 1)):
        settings: dict[str, Any] = {"implicit": implicit, "lengths": lengths, **unit}
        y, z = cornn_loop(*tensors, **settings)
        total = zero_beyond(y, lengths).sum(0)
        last = [s[-1] if steps else h for s, h in ((y, tensors[1]), (z, tensors[2]))]
        found = native.cornn_scan(*tensors, total=True, **settings)
        assert_same(list(found), [y, z, *last, total], tensors)
        for chunk in (None, 2):
            cut = native.cornn_scan(*tensors, chunk=chunk, states=False, total=True, **settings)
            assert torch.equal(cut.last_y, found.last_y)
            assert_same(list(cut), [y, z, *last, total], tensors)


def test_cornn_finds_its_positions_again_after_many_steps() -> None:
    """Training keeps two numbers a step: positions come from velocities, read backwards, to rounding."""
    sequence, W = numbers((784, 3, 1), 0, torch.float32), numbers((2, 33, 33), 1, torch.float32, 0.1)
    tensors = leaves(sequence, torch.zeros(3, 33), torch.zeros(3, 33), *W, numbers((33, 1), 2, torch.float32), None)
    live, found = [t for t in tensors if t is not None], []
    for states in (True, False):
        scan = native.cornn_scan(*tensors, dt=0.05, gamma=2.7, eps=4.7, states=states)
        found.append(torch.autograd.grad(scan.last_y.square().sum(), live))
    for kept, rebuilt in zip(*found, strict=True):
        assert_close(rebuilt, kept)


@dtypes
@sizes
@pytest.mark.parametrize("inputs", [None, 1])
def test_exprnn_equals_the_loop(dtype: torch.dtype, steps: int, batch: int, units: int, inputs: int | None) -> None:
    tensors = leaves(
        numbers((steps, batch, units if inputs is None else inputs), 0, dtype),
        numbers((batch, units), 1, dtype),
        torch.linalg.qr(numbers((units, units), 2, torch.float64))[0].to(dtype),
        numbers((units,), 3, dtype, 0.3),
        None if inputs is None else numbers((units, inputs), 4, dtype),
    )
    for lengths in (None, torch.arange(batch) % (steps + 1)):
        states = modrelu_loop(*tensors, lengths=lengths)
        last, total = states[-1] if steps else tensors[1], zero_beyond(states, lengths).sum(0)
        found = native.exprnn_scan(*tensors, lengths=lengths, total=True)
        assert_same(list(found), [states, last, total], tensors)
        cut = native.exprnn_scan(*tensors, chunk=2, states=False, lengths=lengths, total=True)
        assert torch.equal(cut.last, found.last)
        assert_same(list(cut), [states, last, total], tensors)


def test_modrelu_at_zero_has_no_value_and_no_gradient() -> None:
    Q = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.tensor([0.5, -0.5], dtype=torch.float64, requires_grad=True)
    x = torch.zeros(1, 1, 2, dtype=torch.float64, requires_grad=True)
    last = native.exprnn_scan(x, torch.ones(1, 2, dtype=torch.float64), Q, bias, None).last
    assert not last.any()
    assert not any(g.any() for g in torch.autograd.grad(last.sum(), (x, Q, bias)))
