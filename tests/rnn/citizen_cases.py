"""The fast routes as operators of torch: compiled, exported, transformed and traced programs give the same numbers."""

import pytest
import torch
from torch.library import opcheck

import noisyrnn
from noisyrnn.rnn import Pooling, Route, native
from noisyrnn.rnn.native.cornn import _OSCILLATOR
from noisyrnn.rnn.native.exprnn import _MODRELU
from noisyrnn.rnn.native.maxmin_operators import FORWARD as MAXMIN
from noisyrnn.rnn.native.tanh import _TANH
from noisyrnn.sde.brownian import Key

pytestmark = pytest.mark.skipif(not native.available(), reason=native.status())

LAYERS = {
    "noisy": lambda **more: noisyrnn.NoisyRNN(2, 5, additive=0.05, multiplicative=0.02, **more),
    "ito": lambda **more: noisyrnn.NoisyRNN(
        2, 5, additive=0.1, multiplicative=0.1, convention=noisyrnn.sde.Convention.ITO, **more
    ),
    "gated": lambda **more: noisyrnn.AntisymmetricRNN(2, 5, gated=True, **more),
    "cornn": lambda **more: noisyrnn.CoRNN(2, 5, **more),
    "exprnn": lambda **more: noisyrnn.ExpRNN(2, 5, rebase=None, **more),
    "certified": lambda **more: noisyrnn.CertifiedRNN(2, 6, outputs=4, **more),
}
every_layer = pytest.mark.parametrize("name", LAYERS)
WORDS = torch.tensor([123456789, 4000000000])


def network(name, seed=0, **more):
    torch.manual_seed(seed)
    pooling = Pooling.MEAN if name == "certified" else Pooling.LAST
    return noisyrnn.Classifier(LAYERS[name](dtype=torch.float64, **more), classes=3, pooling=pooling).double()


def inputs(batch=3, steps=6, seed=1):
    return torch.randn(batch, steps, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gradients(model, loss):
    return torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)


@pytest.mark.parametrize(("name", "training"), [*((name, True) for name in LAYERS), ("noisy", False)])
def test_compiled_whole_and_equal_to_eager_under_equal_keys(name, training):
    model = network(name).train(training)
    noisy = training and name in ("noisy", "ito")
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x = inputs()
    call = {"key": Key(value=WORDS)} if noisy else {}
    one, two = compiled(x, **call), model(x, **call)
    assert torch.allclose(one, two, rtol=1e-12)
    for a, b in zip(gradients(model, one.square().sum()), gradients(model, two.square().sum()), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)
    if noisy:
        other = compiled(x, key=Key(value=WORDS + 1))
        assert not torch.allclose(one, other)
        assert torch.allclose(other, model(x, key=Key(value=WORDS + 1)), rtol=1e-12)


def test_two_calls_of_a_compiled_noisy_layer_differ():
    torch._dynamo.reset()
    model = network("noisy").train()
    seen = []

    def count(graph, example):
        seen.append(graph)
        return graph.forward

    compiled = torch.compile(model, fullgraph=True, backend=count)
    x = inputs()
    assert not torch.allclose(compiled(x), compiled(x))
    assert len(seen) == 1
    assert "tanh_scan" in seen[0].code


def test_compiled_with_inductor():
    torch._dynamo.reset()
    model = network("noisy").train()
    compiled = torch.compile(model, fullgraph=True)
    x, key = inputs(), Key(value=WORDS)
    assert torch.allclose(compiled(x, key=key), model(x, key=key), rtol=1e-9)


def test_lengths_and_two_layers_compile():
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = noisyrnn.NoisyRNN(2, 5, num_layers=2, dropout=0.5, bidirectional=True, additive=0.1, dtype=torch.float64)
    model = noisyrnn.Classifier(layer, classes=3).double()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x, lengths, key = inputs(), torch.tensor([6, 2, 0]), Key(value=WORDS)
    assert torch.allclose(compiled(x, lengths=lengths, key=key), model(x, lengths=lengths, key=key))


@every_layer
def test_a_pooled_readout_compiles_whole(name):
    torch.manual_seed(0)
    model = noisyrnn.Classifier(
        LAYERS[name](dtype=torch.float64), classes=3, pooling=noisyrnn.rnn.Pooling.MEAN
    ).double()
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    call = {"key": Key(value=WORDS)} if name in ("noisy", "ito") else {}
    one, two = (m(inputs(), lengths=torch.tensor([6, 2, 0]), **call) for m in (compiled, model))
    assert torch.allclose(one, two, rtol=1e-12)
    for a, b in zip(gradients(model, one.square().sum()), gradients(model, two.square().sum()), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


@every_layer
def test_exported_as_one_node(name):
    model = network(name).eval()
    program = torch.export.export(model, (inputs(),))
    ours = [node for node in program.graph.nodes if "noisyrnn" in str(node.target)]
    assert len(ours) == 1
    x = inputs(seed=5)
    assert torch.allclose(program.module()(x), model(x), rtol=1e-12)


@pytest.mark.parametrize("name", ["noisy", "certified"])
def test_exported_for_any_batch_and_length(name):
    model = network(name).eval()
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("steps")}
    program = torch.export.export(model, (inputs(),), dynamic_shapes=(sizes,))
    x = inputs(batch=7, steps=11)
    assert torch.allclose(program.module()(x), model(x), rtol=1e-12)


@every_layer
def test_gradients_by_transforms(name):
    model, x = network(name).train(), inputs()
    call = {"key": Key(value=WORDS)} if name in ("noisy", "ito") else {}
    weights = dict(model.named_parameters())

    def loss(weights):
        return torch.func.functional_call(model, weights, (x,), call).square().sum()

    found = torch.func.grad(loss)(weights)
    expected = gradients(model, model(x, **call).square().sum())
    for a, b in zip(found.values(), expected, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


@every_layer
def test_second_derivatives_by_transforms(name):
    model, x = network(name).train(), inputs(batch=1, steps=3)
    call = {"key": Key(value=WORDS)} if name in ("noisy", "ito") else {}

    def loss(x):
        return model(x, **call).pow(3).sum()

    found = torch.func.jacrev(torch.func.grad(loss))(x)
    expected = torch.autograd.functional.hessian(lambda x: model(x, route=Route.SCAN, **call).pow(3).sum(), x)
    assert torch.allclose(found, expected, rtol=1e-8, atol=1e-10)


@every_layer
def test_gradients_of_each_sample(name):
    model, x = network(name).train(), inputs()
    call = {"key": Key(value=WORDS)} if name in ("noisy", "ito") else {}
    weights = {name: value.detach() for name, value in model.named_parameters()}

    def loss(weights, sample):
        return torch.func.functional_call(model, weights, (sample.unsqueeze(0),), call).square().sum()

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)
    for i in range(len(x)):
        expected = gradients(model, model(x[i : i + 1], **call).square().sum())
        for a, b in zip(found.values(), expected, strict=True):
            assert torch.allclose(a[i], b, rtol=1e-9, atol=1e-12)


def test_vmap_draws_noise_as_it_is_told():
    model, x = network("noisy").train(), inputs(batch=1).expand(3, -1, -1)

    def one(sample):
        return model(sample.unsqueeze(0))[0]

    different = torch.func.vmap(one, randomness="different")(x)
    assert not torch.allclose(different[0], different[1])
    same = torch.func.vmap(one, randomness="same")(x)
    assert torch.equal(same[0], same[1])
    with pytest.raises(RuntimeError, match="randomness"):
        torch.func.vmap(one)(x)


def test_traced_network_computes():
    model = network("noisy").eval()
    traced = torch.jit.trace(model, (inputs(),))
    x = inputs(seed=9)
    assert torch.allclose(traced(x), model(x), rtol=1e-12)


def test_traced_noise_is_drawn_anew():
    model, x = network("noisy").train(), inputs()
    traced = torch.jit.trace(model, (x,), check_trace=False)
    assert not torch.allclose(traced(x), traced(x))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_autocast_keeps_the_precision_of_the_weights(kind):
    torch.manual_seed(0)
    layer = noisyrnn.NoisyRNN(9, 5, additive=0.05)
    x, key = torch.randn(4, 3, 9).to(kind), Key(value=3)
    expected = layer(x.float(), key=key)[0]
    with torch.autocast("cpu", dtype=kind):
        for route in (Route.NATIVE, Route.EAGER, Route.SCAN):
            found = layer(x, key=key, route=route)[0]
            assert found.dtype == torch.float32
            assert torch.allclose(found, expected, atol=1e-5)
    with pytest.raises(ValueError, match="convert one of them"):
        layer(x)


def operator_cases():
    def given(shape, seed):
        return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    def free(*shape, seed=0):
        return (0.3 * given(shape, seed)).requires_grad_()

    numbers, silent = (2, 0.1, 0.1, 0, 0, 0, 0, True, False), (0, 0.0, 0.0, 0, 0, 0, 0, False, True)
    x, h, A, W, U, b = free(4, 2, 3), free(2, 5), free(5, 5), free(5, 5, seed=1), free(5, 3), free(5)
    dt, lengths = torch.full((5,), 0.1, dtype=torch.float64).requires_grad_(), torch.tensor([4, 2])
    yield _TANH, (x, h, A, W, U, b, None, dt, lengths, None, WORDS, *numbers)
    yield _TANH, (free(4, 2, 5), h, None, W, None, None, free(4, 2, 5), dt, None, None, WORDS, *silent)
    coefficients = torch.full((4, 5), 0.1, dtype=torch.float64)
    yield _OSCILLATOR, (x, h, free(2, 5), A, W, U, b, None, coefficients, WORDS, *silent)
    yield _MODRELU, (x, h, A, b, U, None, None, WORDS, *silent)


@pytest.mark.parametrize("index", range(4))
def test_operators_pass_the_checks_of_torch(index):
    operators, arguments = list(operator_cases())[index]
    opcheck(operators.forward, (*arguments, True))
    chunked = list(arguments)
    chunked[-3] = 2
    opcheck(operators.forward, (*chunked, True), test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("lengths", [None, torch.tensor([4, 2])])
@pytest.mark.parametrize("drive", [False, True])
def test_the_certified_operator_passes_the_checks_of_torch(lengths, drive):
    def free(*shape):
        return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()

    given = (free(4, 2, 6), None, None) if drive else (free(4, 2, 3), free(6, 3), free(6))
    opcheck(MAXMIN, (given[0], free(2, 4), free(2, 2), free(6, 4), *given[1:], lengths, True, True, True))


def test_noise_of_the_certified_layer_is_compiled_with_it():
    torch._dynamo.reset()
    model = network("certified", additive=0.3).train()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x, key = inputs(), Key(value=WORDS)
    assert torch.allclose(compiled(x, key=key), model(x, key=key), rtol=1e-12)
    assert not torch.allclose(compiled(x, key=key), compiled(x, key=Key(value=WORDS + 1)))
