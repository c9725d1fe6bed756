"""The tanh family by the kernel equals the loop, in values and gradients, noise included."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import dtypes, needs_kernel
from tanh_case import ITO, RELEASED, Case, noises
from torch import Tensor

pytestmark = needs_kernel


@dtypes
@noises
@pytest.mark.parametrize(
    ("steps", "batch", "units"),
    [
        (1, 1, 1),
        (2, 33, 7),
        (5, 3, 127),
        (4, 33, 129),
        (0, 4, 5),
        (3, 2, 16),
        (9, 0, 3),
        (20, 1, 33),
        (5, 1, 128),
        (4, 1, 200),
        (3, 300, 5),
    ],
)
def test_tanh_equals_the_loop(noise: dict[str, Any], dtype: torch.dtype, steps: int, batch: int, units: int) -> None:
    Case(steps, batch, units, dtype=dtype).assert_equals_the_loop(**noise)


@noises
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("dt", ["scalar", "unit", "step", "sample"])
@pytest.mark.parametrize("inputs", [None, 3, 11])
def test_tanh_options(noise: dict[str, Any], linear: bool, dt: str, inputs: int | None) -> None:
    Case(6, 5, 19, inputs, linear=linear, dt=dt).assert_equals_the_loop(**noise)


@dtypes
@pytest.mark.parametrize("dt", ["unit", "sample"])
@pytest.mark.parametrize("inputs", [None, 2])
@pytest.mark.parametrize("batch", [1, 33])
def test_gate(dt: str, dtype: torch.dtype, inputs: int | None, batch: int) -> None:
    Case(6, batch, 19, inputs, dt=dt, gated=True, dtype=dtype).assert_equals_the_loop(lengths=torch.arange(batch) % 7)


@noises
@pytest.mark.parametrize("dt", ["unit", "sample"])
def test_states_are_held_after_their_length(noise: dict[str, Any], dt: str) -> None:
    case = Case(7, 9, 19, 2, dt=dt)
    case.assert_equals_the_loop(lengths=torch.tensor([7, 0, 3, 1, 7, 6, 2, 5, 4]), **noise)


def test_inputs_after_the_length_do_not_matter_even_if_not_finite() -> None:
    case = Case(5, 2, 6)
    assert case.tensors["sequence"] is not None
    with torch.no_grad():
        case.tensors["sequence"][3:, 0] = float("nan")
    lengths = torch.tensor([3, 5])
    found = case.scan(lengths=lengths, **ITO)
    gradients = case.gradients(found.last.sum())
    assert all(bool(g.isfinite().all()) for g in gradients.values())
    assert not gradients["sequence"][3:, 0].any()


@noises
@pytest.mark.parametrize("chunk", [1, 3, 4, 100, 2**40])
@pytest.mark.parametrize("states", [True, False])
def test_chunks_change_nothing(noise: dict[str, Any], chunk: int, states: bool) -> None:
    case = Case(11, 5, 19, dt="unit")
    case.assert_equals_the_loop(chunk=chunk, states=states, lengths=torch.tensor([11, 3, 4, 0, 9]), **noise)
    whole, cut = case.scan(**noise), case.scan(chunk=chunk, states=states, **noise)
    assert torch.equal(whole.last, cut.last)


def test_without_gradients_only_the_last_state() -> None:
    case = Case(11, 5, 19)
    with torch.no_grad():
        found = case.scan(states=False, **RELEASED)
    assert found.states is None
    assert torch.equal(found.last, case.scan(**RELEASED).last)


@pytest.mark.parametrize("noise", [{}, ITO, RELEASED], ids=["none", "ito", "released"])
@pytest.mark.parametrize("dt", ["unit", "sample"])
def test_gradcheck(noise: dict[str, Any], dt: str) -> None:
    case = Case(3, 2, 3, 2, dt=dt)
    live = {name: t for name, t in case.tensors.items() if t is not None}

    def scan(*tensors: Tensor) -> tuple[Tensor, Tensor]:
        case.tensors.update(zip(live, tensors, strict=True))
        states, last, _ = case.scan(**noise)
        assert states is not None
        return states, last

    assert torch.autograd.gradcheck(scan, tuple(live.values()))


def test_transposed_views_are_taken_as_they_are() -> None:
    case = Case(5, 4, 6, 2)
    x = case.tensors["sequence"]
    assert x is not None
    expected = case.scan().last
    case.tensors["sequence"] = x.detach().transpose(0, 1).contiguous().transpose(0, 1)
    assert torch.equal(case.scan().last, expected)
