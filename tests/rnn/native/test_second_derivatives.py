"""Second derivatives are those of a plain loop."""

from __future__ import annotations

from typing import Any

import torch
from loops import assert_close, cornn_loop, modrelu_loop, needs_kernel, numbers, tanh_loop
from tanh_case import ITO, Case
from torch import Tensor

from noisyrnn.rnn import native

pytestmark = needs_kernel


def test_second_derivatives_by_the_reference() -> None:
    case = Case(4, 3, 5, dt="unit")

    def curvature(last: Tensor) -> Tensor:
        x, W = case.tensors["sequence"], case.tensors["W"]
        assert x is not None
        assert W is not None
        (g,) = torch.autograd.grad(last.square().sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), W)[0]

    expected = curvature(tanh_loop(**case.tensors, **ITO)[-1])
    assert_close(curvature(case.scan(**ITO).last), expected)


def test_second_derivatives_of_the_other_models() -> None:
    h = numbers((2, 3), 1, torch.float64)
    W = numbers((3, 3), 2, torch.float64).requires_grad_()
    x = numbers((4, 2, 3), 3, torch.float64).requires_grad_()
    bias = numbers((3,), 4, torch.float64, 0.1)
    unit: dict[str, Any] = {"dt": 0.3, "gamma": 1.0, "eps": 0.5}

    def curvature(last: Tensor) -> Tensor:
        (g,) = torch.autograd.grad(last.pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), W)[0]

    assert_close(
        curvature(native.cornn_scan(x, h, h, W, W, None, None, **unit).last_y),
        curvature(cornn_loop(x, h, h, W, W, None, None, **unit)[0][-1]),
    )
    assert_close(
        curvature(native.exprnn_scan(x, h, W, bias, None).last),
        curvature(modrelu_loop(x, h, W, bias, None)[-1]),
    )
