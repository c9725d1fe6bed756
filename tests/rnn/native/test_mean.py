"""The mean of the outputs over the valid steps by the kernel itself: its values, its gradients, and its room."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import assert_close, needs_kernel

import noisyrnn
from noisyrnn.rnn import Route, native
from noisyrnn.sde import Convention
from noisyrnn.sde.brownian import Key

pytestmark = needs_kernel

LAYERS: dict[str, Any] = {
    "released": lambda **more: noisyrnn.NoisyRNN(2, 19, additive=0.05, multiplicative=0.3, dt=0.3, **more),
    "ito": lambda **more: noisyrnn.NoisyRNN(
        2, 19, additive=0.1, multiplicative=0.3, convention=Convention.ITO, dt=0.3, **more
    ),
    "gated": lambda **more: noisyrnn.AntisymmetricRNN(2, 19, gated=True, **more),
    "cornn": lambda **more: noisyrnn.CoRNN(2, 19, **more),
    "exprnn": lambda **more: noisyrnn.ExpRNN(2, 19, rebase=None, **more),
}
every_layer = pytest.mark.parametrize("name", LAYERS)


def made(name: str, **more: Any) -> tuple[Any, torch.Tensor, dict[str, Any]]:
    torch.manual_seed(0)
    layer = LAYERS[name](dtype=torch.float64, **more).train()
    x = torch.randn(7, 5, 2, dtype=torch.float64, requires_grad=True)
    return layer, x, {"key": Key(value=3)} if name in ("released", "ito") else {}


@every_layer
@pytest.mark.parametrize("lengths", [None, torch.tensor([7, 2, 0, 5, 1])])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_and_gradients_are_those_of_the_loop(name: str, lengths: Any, bidirectional: bool) -> None:
    layer, x, call = made(name, bidirectional=bidirectional)
    found = {}
    for route in (Route.NATIVE, Route.SCAN):
        mean, last = layer(x, lengths=lengths, mean=True, route=route, **call)
        ends = last if isinstance(last, tuple) else (last,)
        # A loss that sees both: the gradient that comes at every step, and the one at the end.
        loss = mean.pow(3).sum() + sum(end.square().sum() for end in ends)
        slopes = torch.autograd.grad(loss, [x, *layer.parameters()], allow_unused=True)
        found[route] = [mean, *(g for g in slopes if g is not None)]
    for one, two in zip(found[Route.NATIVE], found[Route.SCAN], strict=True):
        assert_close(one, two)


@every_layer
def test_a_chunk_changes_nothing(name: str) -> None:
    layer, x, call = made(name)
    whole = layer(x, mean=True, **call)[0]
    chunked = layer(x, mean=True, chunk=3, **call)[0]
    assert_close(chunked, whole)
    slopes = [torch.autograd.grad(mean.pow(3).sum(), list(layer.parameters())) for mean in (chunked, whole)]
    for one, two in zip(*slopes, strict=True):
        assert_close(one, two)


@every_layer
def test_second_derivatives_are_those_of_the_loop(name: str) -> None:
    layer, x, call = made(name)

    def curvature(route: Route) -> torch.Tensor:
        mean = layer(x, mean=True, route=route, lengths=torch.tensor([7, 2, 0, 5, 1]), **call)[0]
        (g,) = torch.autograd.grad(mean.pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), x)[0]

    assert_close(curvature(Route.NATIVE), curvature(Route.SCAN))


def test_no_array_over_time_is_made_without_gradients() -> None:
    seen: list[torch.Size] = []

    def empty(shape: Any, kind: torch.dtype) -> torch.Tensor:
        seen.append(torch.Size(shape))
        return torch.empty(shape, dtype=kind)

    layer, x, call = made("released")
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(native.sequence, "empty", empty)
        mean = layer(x, mean=True, **call)[0]
        assert seen == []
        layer(x, **call)
        assert seen == [(7, 5, 19)]  # the patched function is the one that is used
    assert mean.shape == (5, 19)
