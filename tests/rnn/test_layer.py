"""Layers: torch.nn.RNN's laws, lengths, directions, noise on and off, streams, refusals."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import noisyrnn
from noisyrnn.models import Convention, Recurrence
from noisyrnn.rnn import Layer, Route, SDECell
from noisyrnn.sde import AdditiveNoise, Drift, Key

KINDS = {
    "noisy": lambda *a, **o: noisyrnn.NoisyRNN(*a, additive=0.1, multiplicative=0.1, **o),
    "ito": lambda *a, **o: noisyrnn.NoisyRNN(*a, additive=0.1, convention=Convention.ITO, **o),
    "lipschitz": noisyrnn.LipschitzRNN,
    "antisymmetric": noisyrnn.AntisymmetricRNN,
    "gated": lambda *a, **o: noisyrnn.AntisymmetricRNN(*a, gated=True, **o),
    "cornn": noisyrnn.CoRNN,
    "exprnn": noisyrnn.ExpRNN,
    "lstm": lambda *a, **o: noisyrnn.ClassicRNN(*a, recurrence=Recurrence.LSTM, **o),
    "gru": lambda *a, **o: noisyrnn.ClassicRNN(*a, recurrence=Recurrence.GRU, **o),
    "rnn": lambda *a, **o: noisyrnn.ClassicRNN(*a, recurrence=Recurrence.RNN, **o),
}
OWN = [name for name in KINDS if name not in ("lstm", "gru", "rnn")]
own_kinds = pytest.mark.parametrize("kind", OWN)
noisy_kinds = pytest.mark.parametrize("kind", ["noisy", "ito"])
routes = pytest.mark.parametrize("route", [Route.SCAN, Route.EAGER, Route.AUTO])


def parts(hidden):
    return hidden if isinstance(hidden, tuple) else (hidden,)


def close(one, other, dtype=torch.float64):
    return (
        torch.allclose(one, other, rtol=1e-9, atol=1e-11)
        if dtype == torch.float64
        else torch.allclose(one, other, atol=1e-5)
    )


@settings(max_examples=60)
@given(
    kind=st.sampled_from(sorted(KINDS)), steps=st.integers(1, 5), batch=st.integers(1, 4), inputs=st.integers(1, 3),
    units=st.integers(1, 6), layers=st.integers(1, 3), both=st.booleans(), batch_first=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]), data=st.data(),
)  # fmt: skip
def test_laws_of_recurrent_layers(kind, steps, batch, inputs, units, layers, both, batch_first, dtype, data):
    torch.manual_seed(0)
    layer = KINDS[kind](inputs, units, layers, bidirectional=both, batch_first=batch_first, dtype=dtype).eval()
    x = torch.randn(batch, steps, inputs, dtype=dtype)
    given_x = x if batch_first else x.transpose(0, 1)
    output, h_n = layer(given_x)
    width, count = units * (1 + both), layers * (1 + both)
    assert output.shape == ((batch, steps, width) if batch_first else (steps, batch, width))
    assert all(part.shape == (count, batch, units) for part in parts(h_n))
    assert output.dtype == dtype

    # The last output of the forward direction, and the first of the backward one, are the top states.
    time_first = output.transpose(0, 1) if batch_first else output
    ends = [time_first[-1, :, :units]] + ([time_first[0, :, units:]] if both else [])
    assert close(layer.last(h_n), torch.cat(ends, dim=-1), dtype)

    # A sample does not see its neighbours, nor whether it comes in a batch at all.
    alone, _ = layer(given_x[:1] if batch_first else given_x[:, :1])
    assert close(alone, output[:1] if batch_first else output[:, :1], dtype)
    single, _ = layer(x[0])
    assert close(single, time_first[:, 0], dtype)

    # What lies beyond a sequence's length is not seen, and outputs there are zero.
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, steps), min_size=batch, max_size=batch)))
    spoiled = x.clone()
    for row, length in enumerate(lengths):
        spoiled[row, length:] = 1e6
    masked, h_masked = layer(spoiled if batch_first else spoiled.transpose(0, 1), lengths=lengths)
    masked = masked if batch_first else masked.transpose(0, 1)
    for row, length in enumerate(lengths):
        piece = x[row : row + 1, :length]
        own, h_own = layer(piece if batch_first else piece.transpose(0, 1))
        own = own if batch_first else own.transpose(0, 1)
        assert close(masked[row, :length], own[0], dtype)
        assert bool((masked[row, length:] == 0).all())
        assert close(layer.last(h_masked)[row], layer.last(h_own)[0], dtype)

    # A mask and a packed sequence say the same as lengths.
    mask = torch.arange(steps) < lengths.unsqueeze(1)
    again, _ = layer(spoiled if batch_first else spoiled.transpose(0, 1), mask=mask)
    assert torch.equal(again if batch_first else again.transpose(0, 1), masked)
    packed = pack_padded_sequence(spoiled, lengths, batch_first=True, enforce_sorted=False)
    unpacked, counts = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=steps)
    assert torch.equal(counts, lengths)
    assert close(unpacked, masked, dtype)


@own_kinds
def test_state_carries_a_sequence_over_calls(kind):
    layer = KINDS[kind](2, 4, 2, dtype=torch.float64).eval()
    x = torch.randn(9, 3, 2, dtype=torch.float64)
    whole, end = layer(x)
    first, state = layer(x[:4])
    second, state = layer(x[4:], state)
    assert close(torch.cat((first, second)), whole)
    assert all(close(a, b) for a, b in zip(parts(state), parts(end), strict=True))


@routes
@noisy_kinds
def test_noise_is_off_in_eval_and_equals_the_network_without_noise(kind, route):
    layer = KINDS[kind](1, 6)
    x = torch.randn(8, 3, 1)
    layer.eval()
    quiet = layer(x, route=route)[0]
    assert torch.equal(quiet, layer(x, route=route)[0])
    options = {"convention": Convention.ITO} if kind == "ito" else {}
    silent = noisyrnn.NoisyRNN(1, 6, additive=0.0, multiplicative=0.0, **options)
    silent.load_state_dict(layer.state_dict())
    assert torch.equal(silent.train()(x, route=route)[0], quiet)
    layer.train()
    assert not torch.equal(layer(x, route=route)[0], layer(x, route=route)[0])
    assert torch.equal(layer(x, noise=False, route=route)[0], quiet)
    layer.eval()
    forced = [layer(x, noise=True, generator=torch.Generator().manual_seed(3), route=route)[0] for _ in range(2)]
    assert torch.equal(*forced)
    assert not torch.equal(forced[0], quiet)


@routes
@noisy_kinds
def test_same_noise_with_any_thread_count_and_batch_split(kind, route):
    layer = KINDS[kind](1, 6, 2, bidirectional=True)
    x = torch.randn(20, 8, 1)
    whole = layer(x, key=Key(value=4), route=route)[0]
    torch.set_num_threads(2)
    try:
        threaded = layer(x, key=Key(value=4), route=route)[0]
    finally:
        torch.set_num_threads(1)
    assert torch.allclose(whole, threaded, atol=1e-6)
    split = [
        layer(x[:, :3], key=Key(value=4), route=route)[0],
        layer(x[:, 3:], key=Key(value=4, sample=3), route=route)[0],
    ]
    assert torch.allclose(whole, torch.cat(split, dim=1), atol=1e-6)


class Still(Drift):
    def forward(self, h, u):
        return torch.zeros_like(h)


def test_training_noise_has_the_stated_mean_and_covariance():
    # A drift of zero leaves the pure noise: after T steps N(0, T dt sigma^2), independent between units and samples.
    # Each of the 3 statistics is compared at 5 standard errors: a false alarm in 1.7 million each.
    sigma, dt, steps, n = 0.7, 0.1, 5, 20_000
    layer = Layer(SDECell(Still(units=2), AdditiveNoise(sigma), dt=dt)).double()
    _, h_n = layer(torch.zeros(steps, n, 2, dtype=torch.float64), key=Key(value=77))
    variance = steps * dt * sigma**2
    assert float(h_n.mean()) == pytest.approx(0, abs=5 * (variance / (2 * n)) ** 0.5)
    assert float(h_n.var()) == pytest.approx(variance, abs=5 * variance * (2 / (2 * n)) ** 0.5)
    assert float((h_n[0, :, 0] * h_n[0, :, 1]).mean()) == pytest.approx(0, abs=5 * variance / n**0.5)


def test_released_noise_has_its_stated_bias_and_variance():
    # One step from h = 0 with f known: mean (1 - m / 2) d f, variance s^2 + (m d f)^2 / 12.
    s, m, d, n = 0.3, 0.8, 0.5, 40_000
    layer = noisyrnn.NoisyRNN(1, 1, additive=s, multiplicative=m, dt=d, dtype=torch.float64)
    with torch.no_grad():
        _, h_n = layer(torch.ones(1, n, 1, dtype=torch.float64), key=Key(value=3))
        drift = layer.cells[0].sde.drift.built()
        f = float(torch.tanh(drift.encode(torch.ones(1, 1, dtype=torch.float64))))
    variance = s**2 + (m * d * f) ** 2 / 12
    assert float(h_n.mean()) == pytest.approx((1 - m / 2) * d * f, abs=5 * (variance / n) ** 0.5)
    assert float(h_n.var()) == pytest.approx(variance, rel=5 * (2 / n) ** 0.5)


@own_kinds
def test_irregular_steps_equal_a_step_for_step_walk(kind):
    if kind in ("noisy", "exprnn"):
        with pytest.raises(ValueError, match="leave dt out"):
            KINDS[kind](1, 4)(torch.zeros(3, 2, 1), dt=0.1)
        return
    layer = KINDS[kind](1, 4, dtype=torch.float64).eval()
    x, dt = torch.randn(6, 2, 1, dtype=torch.float64), torch.rand(6, 2) + 0.05
    output, _ = layer(x, dt=dt)
    for sample in range(2):
        state = None
        for step in range(6):
            piece, state = layer(x[step : step + 1, sample : sample + 1], state, dt=float(dt[step, sample]))
            assert torch.allclose(piece[0, 0], output[step, sample], atol=1e-7)


def test_backward_direction_sees_its_step_sizes_backwards():
    layer = noisyrnn.LipschitzRNN(1, 4, bidirectional=True, dtype=torch.float64)
    x, dt = torch.randn(5, 2, 1, dtype=torch.float64), torch.rand(5, 2, dtype=torch.float64) + 0.1
    output, _ = layer(x, dt=dt)
    one_way = noisyrnn.LipschitzRNN(1, 4, dtype=torch.float64)
    one_way.cells[0].load_state_dict(layer.cells[1].state_dict())
    assert close(one_way(x.flip(0), dt=dt.flip(0))[0].flip(0), output[..., 4:])


def test_substeps_are_smaller_steps_with_the_input_held():
    fine = noisyrnn.LipschitzRNN(1, 4, dt=0.3, substeps=3, dtype=torch.float64)
    coarse = noisyrnn.LipschitzRNN(1, 4, dt=0.1, dtype=torch.float64)
    coarse.load_state_dict(fine.state_dict())
    x = torch.randn(5, 2, 1, dtype=torch.float64)
    assert close(fine(x)[0], coarse(x.repeat_interleave(3, dim=0))[0][2::3])


def test_dropout_between_layers_keeps_the_mean_and_the_batch_split():
    layer = noisyrnn.LipschitzRNN(1, 5, 2, dropout=0.5)
    x = torch.randn(6, 4, 1)
    key = Key(value=2)
    whole = layer(x, key=key)[0]
    assert not torch.equal(whole, layer.eval()(x)[0])
    layer.train()
    assert not torch.equal(whole, layer(x, key=Key(value=3))[0])
    parts_ = [layer(x[:, :1], key=key)[0], layer(x[:, 1:], key=Key(value=2, sample=1))[0]]
    assert torch.allclose(whole, torch.cat(parts_, dim=1), atol=1e-6)


@pytest.mark.parametrize("kind", list(KINDS))
def test_modules_pickle_copy_convert_and_save(kind, tmp_path):
    layer = KINDS[kind](2, 4, 2, bidirectional=True).eval()
    x = torch.randn(5, 3, 2)
    expected = layer(x)[0]
    for twin in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert torch.equal(twin(x)[0], expected)
    assert torch.allclose(copy.deepcopy(layer).double()(x.double())[0].float(), expected, atol=1e-5)
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    other = KINDS[kind](2, 4, 2, bidirectional=True).eval()
    other.load_state_dict(load_file(tmp_path / "layer.safetensors"))
    assert torch.equal(other(x)[0], expected)
    if kind in OWN:
        assert copy.deepcopy(layer).to("meta")(x.to("meta"), route=Route.SCAN)[0].device.type == "meta"


def test_nan_passes_through_a_raw_layer():
    x = torch.randn(4, 2, 1)
    x[1, 0] = float("nan")
    output, _ = noisyrnn.LipschitzRNN(1, 3)(x)
    assert output[1:, 0].isnan().all()
    assert output[:, 1].isfinite().all()


INPUT = torch.zeros(3, 2, 1)
REFUSALS = {
    "axes": (lambda layer: layer(torch.zeros(3)), r"axes \(time, batch, inputs\)"),
    "features": (lambda layer: layer(torch.zeros(3, 2, 5)), "5 features on its last axis but this layer takes 1"),
    "dtype": (lambda layer: layer(INPUT.double()), r"torch.float64 but the layer's weights are torch.float32"),
    "state shape": (lambda layer: layer(INPUT, torch.zeros(1, 3, 4)), r"h_0 must have shape \(1, 2, 4\)"),
    "state count": (lambda layer: layer(INPUT, (torch.zeros(1, 2, 4),) * 2), "h_0 must be 1 tensor, got 2"),
    "too long": (lambda layer: layer(INPUT, lengths=torch.tensor([4, 1])), "between 0 and the 3 steps"),
    "length count": (lambda layer: layer(INPUT, lengths=torch.tensor([1])), "each of the 2 samples"),
    "holes": (
        lambda layer: layer(torch.zeros(3, 1, 1), mask=torch.tensor([[True, False, True]])),
        "True up to a sequence's end",
    ),
    "both": (
        lambda layer: layer(torch.zeros(3, 1, 1), mask=torch.ones(1, 3, dtype=torch.bool), lengths=torch.tensor([1])),
        "lengths or mask, not both",
    ),
    "negative dt": (lambda layer: layer(INPUT, dt=-0.1), "must be positive and finite"),
    "dt shape": (lambda layer: layer(INPUT, dt=torch.ones(2)), r"got shape \(2,\)"),
    "no noise": (lambda layer: layer(INPUT, noise=True), "has none; build it with noise strengths"),
    "key and generator": (lambda layer: layer(INPUT, key=Key(value=0), generator=torch.Generator()), "not both"),
    "unit count": (lambda layer: noisyrnn.LipschitzRNN(1, 0), "hidden_size must be a whole number"),
    "layer count": (lambda layer: noisyrnn.LipschitzRNN(1, 2, 0), "num_layers must be a whole number"),
    "dropout": (lambda layer: noisyrnn.LipschitzRNN(1, 2, 2, dropout=1.0), r"\[0, 1\)"),
    "beta": (lambda layer: noisyrnn.LipschitzRNN(1, 2, beta=1.5), r"lies in \[0, 1\], got 1.5"),
    "strength": (lambda layer: noisyrnn.NoisyRNN(1, 2, additive=-1.0), "at least 0"),
    "widths": (
        lambda layer: Layer([noisyrnn.LipschitzRNN(1, 2).cells[0], noisyrnn.LipschitzRNN(3, 2).cells[0]]),
        "takes 3 inputs but the layer below gives 2",
    ),
}


@pytest.mark.parametrize("name", list(REFUSALS))
def test_wrong_use_gets_one_clear_sentence(name):
    use, sentence = REFUSALS[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        use(noisyrnn.LipschitzRNN(1, 4))
    assert "\n" not in str(caught.value)
