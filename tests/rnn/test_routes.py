"""Fast routes give the reference's numbers: values, gradients, second derivatives."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import noisyrnn
from noisyrnn.models import Convention
from noisyrnn.rnn import Route, SDECell, chosen, native, routed, tanh_fast_path
from noisyrnn.sde import Key, StateNoise, TanhDrift

MAKERS = {
    "released": lambda **o: noisyrnn.NoisyRNN(2, 5, additive=0.1, multiplicative=0.3, dt=0.1, **o),
    "released additive": lambda **o: noisyrnn.NoisyRNN(2, 5, additive=0.1, multiplicative=0.0, dt=0.1, **o),
    "released fixed": lambda **o: noisyrnn.NoisyRNN(
        2, 5, additive=0.0, multiplicative=0.3, dt=0.1, learned_step=False, **o
    ),
    "ito": lambda **o: noisyrnn.NoisyRNN(
        2, 5, additive=0.2, multiplicative=0.3, dt=0.1, convention=Convention.ITO, **o
    ),
    "ito learned": lambda **o: noisyrnn.NoisyRNN(
        2, 5, additive=0.2, multiplicative=0.3, dt=0.1, convention=Convention.ITO, learned_step=True, **o
    ),
    "ito additive": lambda **o: noisyrnn.NoisyRNN(
        2, 5, additive=0.2, multiplicative=0.0, dt=0.1, convention=Convention.ITO, **o
    ),
    "lipschitz": lambda **o: noisyrnn.LipschitzRNN(2, 5, dt=0.1, **o),
    "antisymmetric": lambda **o: noisyrnn.AntisymmetricRNN(2, 5, dt=0.1, **o),
}

needs_kernel = pytest.mark.skipif(not native.available(), reason=native.status())
fast_routes = pytest.mark.parametrize("fast_route", [Route.EAGER, pytest.param(Route.NATIVE, marks=needs_kernel)])


def gradients(layer, x, h_0, route, **call):
    output, h_n = layer(x, h_0, route=route, key=Key(value=5), **call)
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).reshape(output.shape)
    inputs = [x, h_0, *layer.parameters()]
    return output, h_n, torch.autograd.grad((output * weights).sum() + h_n.square().sum(), inputs)


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("extra", ["plain", "lengths"])
@fast_routes
def test_fast_routes_equal_scan_in_values_and_gradients(name, mode, extra, fast_route):
    torch.manual_seed(0)
    layer = MAKERS[name](dtype=torch.float64, initialisation=noisyrnn.models.Initialisation.PRINTED, init_scale=1.0)
    layer.train(mode == "train")
    x = torch.randn(7, 3, 2, dtype=torch.float64, requires_grad=True)
    h_0 = torch.randn(1, 3, 5, dtype=torch.float64, requires_grad=True)
    call = {"lengths": torch.tensor([7, 0, 4])} if extra == "lengths" else {}
    slow, fast = (gradients(layer, x, h_0, route, **call) for route in (Route.SCAN, fast_route))
    assert torch.allclose(slow[0], fast[0], rtol=1e-10, atol=1e-12)
    assert torch.allclose(slow[1], fast[1], rtol=1e-10, atol=1e-12)
    for reference, found in zip(slow[2], fast[2], strict=True):
        assert torch.allclose(reference, found, rtol=1e-9, atol=1e-12)


@fast_routes
@settings(max_examples=25)
@given(
    name=st.sampled_from(sorted(MAKERS)), steps=st.integers(1, 6), batch=st.integers(1, 4), train=st.booleans(),
    dt=st.sampled_from(["none", "number", "steps", "samples"]),
)  # fmt: skip
def test_fast_routes_equal_scan_for_any_step_sizes(fast_route, name, steps, batch, train, dt):
    layer = MAKERS[name](dtype=torch.float64).train(train)
    x = torch.randn(steps, batch, 2, dtype=torch.float64)
    sizes = {"none": None, "number": 0.2, "steps": torch.rand(steps) + 0.1, "samples": torch.rand(steps, batch) + 0.1}[
        dt
    ]
    learned = name in ("released", "released additive", "ito learned")
    if learned and sizes is not None:
        with pytest.raises(ValueError, match="learned_step=False"):
            layer(x, dt=sizes)
        return
    slow, fast = (layer(x, dt=sizes, key=Key(value=1), route=route)[0] for route in (Route.SCAN, fast_route))
    assert torch.allclose(slow, fast, rtol=1e-10, atol=1e-12)


@fast_routes
@pytest.mark.parametrize("name", ["released", "ito learned", "antisymmetric"])
def test_fast_gradients_pass_the_finite_difference_check_twice(name, fast_route):
    torch.manual_seed(1)
    layer = MAKERS[name](dtype=torch.float64).train()
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)

    def end(inputs):
        return layer(inputs, key=Key(value=2), route=fast_route)[1]

    assert torch.autograd.gradcheck(end, (x,))
    assert torch.autograd.gradgradcheck(end, (x,))


def test_route_can_be_chosen_for_a_stretch_of_code():
    layer, x = MAKERS["lipschitz"](), torch.randn(3, 1, 2)
    with routed(Route.SCAN):
        assert chosen() is Route.SCAN
        assert "AffineScan" not in _graph_names(layer(x)[0])
    assert chosen() is Route.AUTO
    assert "AffineScan" in _graph_names(layer(x, route=Route.EAGER)[0])


def _graph_names(output):
    names, todo = "", [output.grad_fn]
    while todo:
        node = todo.pop()
        names += type(node).__name__
        todo += [following for following, _ in node.next_functions if following is not None]
    return names


def test_eager_route_refuses_what_it_cannot_run():
    eye = torch.eye(2)
    drift = TanhDrift(eye, eye, torch.ones(2, 1), torch.zeros(2))
    layer = noisyrnn.Layer(SDECell(drift, StateNoise(0.1), dt=0.1))
    with pytest.raises(ValueError, match="tanh family only"):
        layer(torch.zeros(2, 1, 1), route=Route.EAGER)
    assert layer(torch.zeros(2, 1, 1))[0].shape == (2, 1, 2)


def test_functional_transforms_work_on_the_reference_route():
    layer = MAKERS["lipschitz"](dtype=torch.float64)
    x = torch.randn(4, 2, 2, dtype=torch.float64)

    def end(weights):
        return torch.func.functional_call(layer, weights, (x,), {"route": Route.SCAN})[1].sum()

    gradient = torch.func.grad(end)(dict(layer.named_parameters()))
    layer(x, route=Route.EAGER)[1].sum().backward()
    for name, parameter in layer.named_parameters():
        assert torch.allclose(gradient[name], parameter.grad)


@needs_kernel
def test_kernel_runs_the_gated_network_with_second_derivatives():
    layer = noisyrnn.AntisymmetricRNN(2, 5, gated=True, dt=0.3, dtype=torch.float64)
    x = torch.randn(4, 2, 2, dtype=torch.float64, requires_grad=True)
    h_0 = torch.randn(1, 2, 5, dtype=torch.float64, requires_grad=True)
    slow, fast = (gradients(layer, x, h_0, route) for route in (Route.SCAN, Route.NATIVE))
    for reference, found in zip((slow[0], *slow[2]), (fast[0], *fast[2]), strict=True):
        assert torch.allclose(reference, found, rtol=1e-9, atol=1e-12)
    assert torch.autograd.gradgradcheck(lambda inputs: layer(inputs, route=Route.NATIVE)[1], (x,))


OTHERS = {
    "cornn": lambda: noisyrnn.CoRNN(2, 5, dt=0.2, dtype=torch.float64),
    "cornn implicit": lambda: noisyrnn.CoRNN(
        2, 5, dt=0.2, damping=noisyrnn.models.Damping.IMPLICIT, dtype=torch.float64
    ),
    "exprnn": lambda: noisyrnn.ExpRNN(2, 5, dtype=torch.float64).eval(),
    "many inputs": lambda: noisyrnn.CoRNN(2, 5, dt=0.2, num_layers=2, bidirectional=True, dtype=torch.float64),
}


@needs_kernel
@pytest.mark.parametrize("name", list(OTHERS))
@pytest.mark.parametrize("lengths", [None, torch.tensor([6, 0, 3])])
def test_kernel_equals_scan_for_the_other_models(name, lengths):
    layer = OTHERS[name]()
    x = torch.randn(6, 3, 2, dtype=torch.float64, requires_grad=True)
    slow, fast = (layer(x, lengths=lengths, route=route) for route in (Route.SCAN, Route.NATIVE))
    states = [(hidden if isinstance(hidden, tuple) else (hidden,)) for _, hidden in (slow, fast)]
    for one, two in zip((slow[0], *states[0]), (fast[0], *states[1]), strict=True):
        assert torch.allclose(one, two, rtol=1e-10, atol=1e-12)
    found = [
        torch.autograd.grad(output.sum() + sum(h.square().sum() for h in hidden), [x, *layer.parameters()])
        for (output, _), hidden in zip((slow, fast), states, strict=True)
    ]
    for one, two in zip(*found, strict=True):
        assert torch.allclose(one, two, rtol=1e-9, atol=1e-12)
    assert torch.autograd.gradgradcheck(lambda inputs: layer(inputs, lengths=lengths, route=Route.NATIVE)[0], (x,))


@needs_kernel
@pytest.mark.parametrize("name", list(MAKERS))
def test_recomputing_in_chunks_changes_no_gradient(name):
    layer = MAKERS[name](dtype=torch.float64).train()
    x = torch.randn(11, 3, 2, dtype=torch.float64)
    found = []
    for chunk in (None, 1, 4, 50):
        output, h_n = layer(x, key=Key(value=1), outputs=False, chunk=chunk, route=Route.NATIVE)
        assert output is None
        found.append(torch.autograd.grad(h_n.square().sum(), list(layer.parameters())))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert torch.allclose(one, two, rtol=1e-12, atol=1e-14)


@needs_kernel
def test_routes_that_do_not_fit_are_refused_with_the_reason(monkeypatch):
    layer, x = MAKERS["lipschitz"](), torch.randn(3, 1, 2)
    with pytest.raises(ValueError, match="chunk needs the native kernel"):
        layer(x, route=Route.SCAN, chunk=2)
    monkeypatch.setenv("NOISYRNN_NATIVE", "0")
    with pytest.raises(ValueError, match="NOISYRNN_NATIVE=0 is set"):
        layer(x, route=Route.NATIVE)
    assert "AffineScan" in _graph_names(layer(x)[0])


@pytest.mark.parametrize("lengths", [None, torch.tensor([9, 4, 0])])
def test_the_eager_route_is_the_same_in_stretches(
    monkeypatch: pytest.MonkeyPatch, lengths: torch.Tensor | None
) -> None:
    torch.manual_seed(0)
    layer = noisyrnn.NoisyRNN(2, 5, additive=0.1, multiplicative=0.3, dt=0.3, dtype=torch.float64)
    x, key = torch.randn(9, 3, 2, dtype=torch.float64), Key(value=5, step=7)
    found = []
    for near in (2 * 15, 1 << 18):  # two steps at a time, and all of them
        monkeypatch.setattr(tanh_fast_path, "_NEAR", near)
        outputs, last = layer(x, key=key, lengths=lengths, route=Route.EAGER)
        slopes = torch.autograd.grad(outputs.pow(3).sum() + last.sum(), list(layer.parameters()))
        only, same = layer(x, key=key, lengths=lengths, route=Route.EAGER, outputs=False)
        assert only is None
        assert torch.equal(last, same)
        found.append([outputs, last, *slopes])
    for one, two in zip(*found, strict=True):
        assert torch.allclose(one, two, rtol=1e-12, atol=1e-14)
