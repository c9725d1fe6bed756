"""The kernel of the certified RNN beside the reference loop: values, gradients, threads, instructions, lengths."""

import pytest
import torch

from noisyrnn import CertifiedRNN, Key, Route
from noisyrnn.rnn import native

pytestmark = pytest.mark.skipif(not native.available(), reason="the kernel is not there")

SHAPES = [(1, 6, 4, 1), (3, 17, 9, 5), (10, 20, 12, 19), (2, 33, 31, 3), (7, 5, 3, 33)]


def made(inputs: int, states: int, outputs: int, dtype: torch.dtype, **options) -> CertifiedRNN:
    torch.manual_seed(states)
    layer = CertifiedRNN(inputs, states, outputs=outputs, dtype=dtype, **options)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return layer


def answers(layer: CertifiedRNN, x: torch.Tensor, route: Route, **call) -> list[torch.Tensor]:
    """Everything a caller can see: outputs, their mean, last states, and all gradients."""
    x = x.clone().requires_grad_()
    layer.zero_grad()
    outputs, (z, y) = layer(x, route=route, **call)
    mean, _ = layer(x, route=route, mean=True, **call)
    weights = torch.linspace(-1, 1, outputs.numel(), dtype=x.dtype).reshape(outputs.shape)
    ((outputs * weights).sum() + mean.square().sum() + z.sin().sum() + y.cos().sum()).backward()
    grads = [parameter.grad.clone() for parameter in layer.parameters()]
    return [outputs.detach(), mean.detach(), z.detach(), y.detach(), x.grad, *grads]


@pytest.mark.parametrize(("inputs", "states", "outputs", "batch"), SHAPES)
@pytest.mark.parametrize("ragged", [False, True])
def test_the_kernel_gives_the_numbers_of_the_reference_loop(inputs, states, outputs, batch, ragged):
    layer = made(inputs, states, outputs, torch.float64, gain=1.7)
    x = torch.randn(9, batch, inputs, dtype=torch.float64)
    call = {"lengths": torch.randint(0, 10, (batch,))} if ragged else {}
    for one, other in zip(answers(layer, x, Route.NATIVE, **call), answers(layer, x, Route.SCAN, **call), strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-10)


def test_single_precision_agrees_to_its_rounding():
    layer = made(2, 33, 31, torch.float32, num_layers=2, bidirectional=True)
    x = torch.randn(40, 5, 2)
    for one, other in zip(answers(layer, x, Route.NATIVE), answers(layer, x, Route.SCAN), strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-3)


def test_noise_is_that_of_the_reference_loop():
    layer = made(2, 6, 4, torch.float64, additive=0.3)
    x = torch.randn(7, 3, 2, dtype=torch.float64)
    noisy = [answers(layer, x, route, noise=True, key=Key(value=9)) for route in (Route.NATIVE, Route.SCAN)]
    for one, other in zip(*noisy, strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-10)
    assert not torch.allclose(noisy[0][0], answers(layer, x, Route.NATIVE, noise=False)[0])


def test_no_number_depends_on_threads_or_on_the_samples_beside_it(monkeypatch):
    layer = made(1, 30, 18, torch.float32)
    x = torch.randn(20, 70, 1)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NOISYRNN_THREADS", threads)
        found.append(answers(layer, x, Route.NATIVE))
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    alone = layer(x[:, 41:42], route=Route.NATIVE)[0]
    assert torch.equal(alone, layer(x, route=Route.NATIVE)[0][:, 41:42])


def test_gradients_and_second_derivatives_pass_gradcheck():
    layer = made(1, 2, 2, torch.float64)
    x = torch.randn(3, 2, 1, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([3, 1])

    def mean(x: torch.Tensor, A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        swapped = {"cells.0.orthogonal.A": A, "cells.0.b": b}
        found = torch.func.functional_call(layer, swapped, (x,), {"mean": True, "lengths": lengths})
        return found[0].square()

    cell = layer.cells[0]
    given = (x, cell.orthogonal.A.detach().requires_grad_(), cell.b.detach().requires_grad_())
    assert torch.autograd.gradcheck(mean, given)
    assert torch.autograd.gradgradcheck(mean, given)


def test_equal_neighbours_stay_where_they_are():
    # Zero input and zero bias: every pair is a tie, in the kernel and in the reference loop alike.
    layer = CertifiedRNN(1, 6, outputs=4, dtype=torch.float64)
    x = torch.zeros(3, 2, 1, dtype=torch.float64)
    for one, other in zip(answers(layer, x, Route.NATIVE), answers(layer, x, Route.SCAN), strict=True):
        assert torch.allclose(one, other)


def test_what_is_not_a_number_stays_so():
    layer = made(1, 6, 4, torch.float32)
    x = torch.randn(5, 2, 1)
    x[2, 0] = torch.nan
    outputs, _ = layer(x, route=Route.NATIVE)
    assert outputs[2:, 0].isnan().any()
    assert outputs[:, 1].isfinite().all()
    assert outputs[:2, 0].isfinite().all()


def test_wrong_arrays_are_refused_in_a_sentence():
    z, y, K = torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(6, 3)
    with pytest.raises(ValueError, match="shape"):
        native.maxmin_scan(torch.zeros(4, 2, 6), z, y, K[:5], None, None)
    with pytest.raises(ValueError, match="even number"):
        native.maxmin_scan(torch.zeros(4, 2, 5), z, y[:, :2], K[:5], None, None)
    with pytest.raises(ValueError, match="one dtype"):
        native.maxmin_scan(torch.zeros(4, 2, 6), z, y, K.double(), None, None)
    with pytest.raises(ValueError, match="Lengths"):
        native.maxmin_scan(torch.zeros(4, 2, 6), z, y, K, None, None, lengths=torch.tensor([5, 1]))
