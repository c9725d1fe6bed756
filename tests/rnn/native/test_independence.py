"""No bit depends on threads or on neighbours in a batch, and nothing is computed that is not wanted."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import KEY, assert_close, needs_kernel, tanh_loop
from tanh_case import RELEASED, Case, noises
from torch import Tensor

from noisyrnn.sde.brownian import Key

pytestmark = needs_kernel


@noises
def test_thread_count_changes_no_bit(noise: dict[str, Any]) -> None:
    def run(threads: int) -> tuple[Tensor, dict[str, Tensor]]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            case = Case(9, 67, 37, dtype=torch.float32, dt="unit")
            found = case.scan(**noise)
            assert found.states is not None
            return found.states, case.gradients((found.states * case.weights).sum())
        finally:
            torch.set_num_threads(before)

    (states, gradients), (more_states, more_gradients) = run(1), run(2)
    assert torch.equal(states, more_states)
    for name in gradients:
        assert torch.equal(gradients[name], more_gradients[name]), name


@pytest.mark.parametrize("units", [37, 128, 200])
@pytest.mark.parametrize("cut", [1, 2, 3, 5, 16, 30])
def test_a_sample_does_not_see_its_neighbours(cut: int, units: int) -> None:
    case = Case(9, 33, units, dtype=torch.float32)
    whole = case.scan(**RELEASED)
    weights = case.weights
    assert whole.states is not None
    gradient = case.gradients((whole.states * weights).sum())["h0"]
    found, found_gradients = [], []
    for part, first in ((slice(None, cut), 0), (slice(cut, None), cut)):
        piece = Case(9, 33, units, dtype=torch.float32)
        for name, axis in (("sequence", 1), ("h0", 0)):
            tensor = piece.tensors[name]
            assert tensor is not None
            cut_tensor = tensor.detach()[(slice(None),) * axis + (part,)].clone().requires_grad_()
            piece.tensors[name] = cut_tensor
        key = Key(value=KEY.value, stream=KEY.stream, sample=KEY.sample + first, step=KEY.step)
        states = piece.scan(**{**RELEASED, "key": key}).states
        assert states is not None
        found.append(states)
        found_gradients.append(piece.gradients((states * weights[:, part]).sum())["h0"])
    assert torch.equal(torch.cat(found, 1), whole.states)
    assert torch.equal(torch.cat(found_gradients), gradient)


@pytest.mark.parametrize("ragged", [False, True])
def test_a_record_that_outgrows_the_caches_holds_the_same_bits(ragged: bool) -> None:
    # States and activations take 36 MB, which are stored past the caches; those of a half are not.
    steps, batch, units = 2200, 128, 16
    lengths = torch.arange(batch) * 17 % (steps + 1) if ragged else None

    def run(part: slice) -> tuple[Tensor, Tensor]:
        case = Case(steps, batch, units, dtype=torch.float32, dt="unit")
        for name, axis in (("sequence", 1), ("h0", 0)):
            tensor = case.tensors[name].detach()[(slice(None),) * axis + (part,)]
            case.tensors[name] = tensor.clone().requires_grad_()
        case.tensors["A"] = (case.tensors["A"].detach() - 2 * torch.eye(units)).requires_grad_()  # remains bounded
        key = Key(value=KEY.value, sample=part.start)
        found = case.scan(**{**RELEASED, "key": key}, lengths=None if lengths is None else lengths[part])
        assert found.states is not None
        return found.states.detach(), case.gradients((found.states * case.weights[:, part]).sum())["sequence"]

    whole, halves = run(slice(0, batch)), [run(slice(first, first + batch // 2)) for first in (0, batch // 2)]
    for all_of_it, parts in zip(whole, zip(*halves, strict=True), strict=True):
        assert torch.equal(all_of_it, torch.cat(parts, 1))


def test_only_wanted_gradients() -> None:
    case = Case(5, 4, 6)
    for name, tensor in case.tensors.items():
        if tensor is not None and name != "sequence":
            tensor.requires_grad_(False)
    expected = tanh_loop(**case.tensors)[-1].square().sum()
    found = case.scan().last.square().sum()
    x = case.tensors["sequence"]
    assert x is not None
    assert_close(torch.autograd.grad(found, x)[0], torch.autograd.grad(expected, x)[0])
