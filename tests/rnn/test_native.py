"""The compiled kernel equals a plain loop in torch, in values and gradients, noise included."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from noisyrnn.rnn import native
from noisyrnn.rnn.native import Convention
from noisyrnn.sde import brownian
from noisyrnn.sde.brownian import Key

pytestmark = pytest.mark.skipif(not native.available(), reason=native.status())

KEY = Key(value=0x1234_5678_9ABC_DEF0, stream=2, sample=3, step=4)
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}


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
    convention: Convention = Convention.NONE,
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


class Case:
    """Tensors of a tanh recurrence of a given size, all with gradients."""

    def __init__(
        self,
        steps: int,
        batch: int,
        units: int,
        inputs: int | None = 1,
        *,
        dtype: torch.dtype = torch.float64,
        linear: bool = True,
        gated: bool = False,
        dt: str = "scalar",
    ) -> None:
        scale = 0.7 / units**0.5
        shape = {"scalar": (), "unit": (units,), "step": (steps, 1, 1), "sample": (steps, batch, 1)}[dt]
        # Of any type: they go to functions by name, each of which knows what may be absent.
        self.tensors: dict[str, Any] = {
            "sequence": numbers((steps, batch, units if inputs is None else inputs), 0, dtype),
            "h0": numbers((batch, units), 1, dtype),
            "A": numbers((units, units), 2, dtype, scale) if linear and not gated else None,
            "W": numbers((units, units), 3, dtype, scale),
            "U": None if inputs is None else numbers((units, inputs), 4, dtype),
            "b": None if inputs is None else numbers((units,), 5, dtype),
            "gate": numbers((steps, batch, units), 6, dtype) if gated else None,
            "dt": 0.05 + 0.1 * numbers(shape, 7, dtype).abs(),
        }
        for tensor in self.tensors.values():
            if tensor is not None:
                tensor.requires_grad_()
        self.weights = numbers((steps, batch, units), 8, dtype)
        self.last_weights = numbers((batch, units), 9, dtype)

    def scan(self, **settings: Any) -> native.Scan:
        gate = self.tensors["gate"]
        rest = [self.tensors[name] for name in ("sequence", "h0", "A", "W", "U", "b", "dt")]
        return native.tanh_scan(*rest, gate=gate, **settings)

    def gradients(self, loss: Tensor) -> dict[str, Tensor]:
        live = {name: t for name, t in self.tensors.items() if t is not None}
        found = torch.autograd.grad(loss, list(live.values()), allow_unused=True)
        return {name: torch.zeros_like(t) if g is None else g for (name, t), g in zip(live.items(), found, strict=True)}

    def assert_equals_the_loop(self, **settings: Any) -> None:
        noise = {k: v for k, v in settings.items() if k not in ("chunk", "states", "reference")}
        expected = tanh_loop(**self.tensors, **noise)
        last = expected[-1] if len(expected) else self.tensors["h0"]
        assert last is not None
        found = self.scan(**settings)
        assert_close(found.last, last, "last")
        loss, wanted = (found.last * self.last_weights).sum(), (last * self.last_weights).sum()
        if found.states is not None:
            assert_close(found.states, expected, "states")
            loss, wanted = (
                loss + (found.states * self.weights).sum(),
                wanted + (expected * self.weights).sum(),
            )
        ours, theirs = self.gradients(loss), self.gradients(wanted)
        for name in ours:
            assert_close(ours[name], theirs[name], f"gradient of {name}")


ITO: dict[str, Any] = {"convention": Convention.ITO, "additive": 0.3, "multiplicative": 0.2, "key": KEY}
RELEASED: dict[str, Any] = {"convention": Convention.RELEASED, "additive": 0.1, "multiplicative": 0.3, "key": KEY}
MIXED: dict[str, dict[str, Any]] = {"none": {}, "ito": ITO, "released": RELEASED}
NOISES = {
    **MIXED,
    "ito additive": {**ITO, "multiplicative": 0.0},
    "released additive": {**RELEASED, "multiplicative": 0.0},
}
SIZES = [(1, 1, 1), (2, 33, 7), (5, 3, 127), (4, 33, 129), (0, 4, 5), (3, 2, 16), (20, 1, 33)]
noises = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
sizes = pytest.mark.parametrize(("steps", "batch", "units"), SIZES)
more_sizes = pytest.mark.parametrize(("steps", "batch", "units"), [*SIZES, (9, 0, 3), (3, 300, 5)])
varying_steps = pytest.mark.parametrize("dt", ["unit", "sample"])


@dtypes
@pytest.mark.parametrize("units", [1, 7, 16, 127, 129])
@pytest.mark.parametrize("samples", [0, 3, 1000])
@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_noise_is_that_of_the_contract(dtype: torch.dtype, units: int, samples: int, law: str) -> None:
    define = brownian.draw if law == "gaussian" else brownian.uniform
    fill = native.gaussian if law == "gaussian" else native.uniform
    steps = 2 if samples > 100 else 5
    found, expected = fill(KEY, samples, steps, units, dtype), define(KEY, samples, steps, units, dtype=dtype)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12 if dtype == torch.float64 else 3e-6)


@dtypes
@noises
@more_sizes
def test_tanh_equals_the_loop(noise: dict[str, Any], dtype: torch.dtype, steps: int, batch: int, units: int) -> None:
    Case(steps, batch, units, dtype=dtype).assert_equals_the_loop(**noise)


@noises
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("dt", ["scalar", "unit", "step", "sample"])
@pytest.mark.parametrize("inputs", [None, 3, 11])
def test_tanh_options(noise: dict[str, Any], linear: bool, dt: str, inputs: int | None) -> None:
    Case(6, 5, 19, inputs, linear=linear, dt=dt).assert_equals_the_loop(**noise)


@dtypes
@varying_steps
@pytest.mark.parametrize("inputs", [None, 2])
@pytest.mark.parametrize("batch", [1, 33])
def test_gate(dt: str, dtype: torch.dtype, inputs: int | None, batch: int) -> None:
    Case(6, batch, 19, inputs, dt=dt, gated=True, dtype=dtype).assert_equals_the_loop(lengths=torch.arange(batch) % 7)


@noises
@varying_steps
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
@pytest.mark.parametrize("chunk", [1, 3, 4, 100])
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


@pytest.mark.parametrize("noise", MIXED.values(), ids=MIXED.keys())
@varying_steps
def test_gradcheck(noise: dict[str, Any], dt: str) -> None:
    case = Case(3, 2, 3, 2, dt=dt)
    live = {name: t for name, t in case.tensors.items() if t is not None}

    def scan(*tensors: Tensor) -> tuple[Tensor, Tensor]:
        case.tensors.update(zip(live, tensors, strict=True))
        states, last = case.scan(**noise)
        assert states is not None
        return states, last

    assert torch.autograd.gradcheck(scan, tuple(live.values()))


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


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 16, 30])
def test_a_sample_does_not_see_its_neighbours(cut: int) -> None:
    case = Case(9, 33, 37, dtype=torch.float32)
    whole = case.scan(**RELEASED)
    weights = case.weights
    assert whole.states is not None
    gradient = case.gradients((whole.states * weights).sum())["h0"]
    found, found_gradients = [], []
    for part, first in ((slice(None, cut), 0), (slice(cut, None), cut)):
        piece = Case(9, 33, 37, dtype=torch.float32)
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


def test_second_derivatives_by_the_reference() -> None:
    case = Case(4, 3, 5, dt="unit")

    def reference(*tensors: Tensor) -> Tensor:
        return tanh_loop(*tensors, **ITO)

    def curvature(last: Tensor) -> Tensor:
        x, W = case.tensors["sequence"], case.tensors["W"]
        assert x is not None
        assert W is not None
        (g,) = torch.autograd.grad(last.square().sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), W)[0]

    expected = curvature(tanh_loop(**case.tensors, **ITO)[-1])
    assert_close(curvature(case.scan(reference=reference, **ITO).last), expected)
    with pytest.raises(RuntimeError, match="second derivatives"):
        curvature(case.scan(**ITO).last)


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


def assert_same(found: Sequence[Tensor | None], expected: list[Tensor], tensors: list[Any]) -> None:
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
        last = [s[-1] if steps else h for s, h in ((y, tensors[1]), (z, tensors[2]))]
        found = native.cornn_scan(*tensors, **settings)
        assert_same(found, [y, z, *last], tensors)
        cut = native.cornn_scan(*tensors, chunk=2, states=False, **settings)
        assert torch.equal(cut.last_y, found.last_y)
        assert_same(cut, [y, z, *last], tensors)


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
        last = states[-1] if steps else tensors[1]
        found = native.exprnn_scan(*tensors, lengths=lengths)
        assert_same(found, [states, last], tensors)
        cut = native.exprnn_scan(*tensors, chunk=2, states=False, lengths=lengths)
        assert torch.equal(cut.last, found.last)
        assert_same(cut, [states, last], tensors)


def test_modrelu_at_zero_has_no_value_and_no_gradient() -> None:
    Q = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.tensor([0.5, -0.5], dtype=torch.float64, requires_grad=True)
    x = torch.zeros(1, 1, 2, dtype=torch.float64, requires_grad=True)
    last = native.exprnn_scan(x, torch.ones(1, 2, dtype=torch.float64), Q, bias, None).last
    assert not last.any()
    assert not any(g.any() for g in torch.autograd.grad(last.sum(), (x, Q, bias)))


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
        curvature(
            native.cornn_scan(x, h, h, W, W, None, None, reference=lambda *t: cornn_loop(*t, **unit), **unit).last_y
        ),
        curvature(cornn_loop(x, h, h, W, W, None, None, **unit)[0][-1]),
    )
    assert_close(
        curvature(native.exprnn_scan(x, h, W, bias, None, reference=modrelu_loop).last),
        curvature(modrelu_loop(x, h, W, bias, None)[-1]),
    )


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)


BAD: dict[str, dict[str, Any]] = {
    "dtype": {"sequence": torch.zeros(3, 2, 1)},
    "half": {"h0": torch.zeros(2, 4, dtype=torch.float16)},
    "device": {"W": torch.zeros(4, 4, dtype=torch.float64, device="meta")},
    "sparse": {"W": torch.eye(4, dtype=torch.float64).to_sparse()},
    "W": {"W": zeros(4, 5)},
    "A": {"A": zeros(5, 4)},
    "U": {"U": zeros(4, 2)},
    "b": {"b": zeros(5)},
    "b alone": {"U": None, "sequence": zeros(3, 2, 4)},
    "h0": {"h0": zeros(3, 4)},
    "h0 axes": {"h0": zeros(4)},
    "sequence": {"sequence": zeros(3, 2)},
    "dt": {"dt": zeros(3)},
    "dt both": {"dt": zeros(3, 1, 4)},
    "dt dtype": {"dt": torch.zeros(4)},
    "lengths dtype": {"lengths": torch.ones(2)},
    "lengths shape": {"lengths": torch.ones(3, dtype=torch.int64)},
    "lengths long": {"lengths": torch.tensor([1, 4])},
    "lengths negative": {"lengths": torch.tensor([-1, 2])},
    "chunk": {"chunk": 0},
    "key": {"convention": Convention.ITO},
    "counter": {"convention": Convention.ITO, "additive": 1.0, "key": Key(value=0, step=2**63)},
    "gate": {"gate": zeros(3, 2, 4)},
    "gate shape": {"gate": zeros(3, 2, 5), "A": None},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused(change: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "sequence": zeros(3, 2, 1),
        "h0": zeros(2, 4),
        "A": zeros(4, 4),
        "W": zeros(4, 4),
        "U": zeros(4, 1),
        "b": zeros(4),
        "dt": 0.1,
    }
    native.tanh_scan(**arguments)
    with pytest.raises(ValueError, match=r"\.$"):
        native.tanh_scan(**{**arguments, **change})


def test_the_module_itself_refuses_what_it_cannot_read() -> None:
    module = native._kernel()
    good = torch.zeros(3, 2, 4)
    misaligned = torch.frombuffer(bytearray(100), dtype=torch.uint8)[1:97].numpy().view("f4").reshape(3, 2, 4)
    for out in (
        good.transpose(0, 1),
        good[:, :, ::2],
        good.half(),
        good[0],
        misaligned,
        good.expand(3, 2, 4)[:, :1],
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            module.fill(out, (0, 0, 0, 0), True, 1)
    with pytest.raises(ValueError, match="threads"):
        module.fill(good, (0, 0, 0, 0), True, 0)
    with pytest.raises(ValueError, match="memory"):
        module.empty([2**62, 2**62], False)


def test_transposed_views_are_taken_as_they_are() -> None:
    case = Case(5, 4, 6, 2)
    x = case.tensors["sequence"]
    assert x is not None
    expected = case.scan().last
    case.tensors["sequence"] = x.detach().transpose(0, 1).contiguous().transpose(0, 1)
    assert torch.equal(case.scan().last, expected)


def test_the_baseline_gives_the_same_numbers() -> None:
    module = native._kernel()
    for dtype, tolerance in ((torch.float32, 2e-6), (torch.float64, 1e-13)):
        best, plain = torch.empty(4, 5, 37, dtype=dtype), torch.empty(4, 5, 37, dtype=dtype)
        for normal in (True, False):
            module.fill(best, (1, 2, 3, 4), normal, 1, False)
            module.fill(plain, (1, 2, 3, 4), normal, 1, True)
            torch.testing.assert_close(best, plain, rtol=0, atol=tolerance)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_threads() -> None:
    expected = native.gaussian(Key(value=1), 64, 3, 20)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        found = native.gaussian(Key(value=1), 64, 3, 20)
        os.write(write, b"1" if torch.equal(found, expected) else b"0")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(read, 1) == b"1"


def test_denormals_are_flushed_only_inside() -> None:
    tiny = torch.tensor([1e-40])
    native.gaussian(Key(value=1), 64, 3, 20)
    assert float(tiny * 0.5) != 0


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "on" in native.status()
    monkeypatch.setenv("NOISYRNN_NATIVE", "0")
    assert not native.available()
    assert "NOISYRNN_NATIVE=0" in native.status()
    with pytest.raises(RuntimeError, match="NOISYRNN_NATIVE"):
        native.gaussian(Key(value=1), 1, 1, 1)
