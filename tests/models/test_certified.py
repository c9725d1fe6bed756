"""The certified RNN: it loses and gains no energy, in whatever shape it is built."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noisyrnn import CertifiedRNN, Classifier, Key, Stream
from noisyrnn.models import Certified, Contraction, Parametrisation
from noisyrnn.models.certified_cell import maxmin
from noisyrnn.rnn import EqualRows, NoGain, Pooling


def trained(layer: CertifiedRNN, seed: int = 0) -> CertifiedRNN:
    """The layer with weights far from where they start, as after a training."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return layer.eval()


@pytest.mark.parametrize("parametrisation", list(Parametrisation))
@pytest.mark.parametrize(("inputs", "states", "outputs"), [(1, 6, 4), (4, 5, 3), (3, 8, 8)])
def test_k_has_orthonormal_columns_or_rows_for_every_weight(parametrisation, inputs, states, outputs):
    layer = CertifiedRNN(inputs, states, outputs=outputs, parametrisation=parametrisation, dtype=torch.float64)
    K = trained(layer).cells[0].matrix()
    product = K.mT @ K if outputs >= inputs else K @ K.mT
    assert torch.allclose(product, torch.eye(len(product), dtype=torch.float64), atol=1e-6)


def test_a_start_with_memory_keeps_what_a_random_one_forgets():
    def kept(memory, steps=30):
        torch.manual_seed(0)
        cell = CertifiedRNN(1, 64, outputs=32, memory=memory).cells[0]
        K = cell.matrix().detach()
        assert torch.allclose(K.mT @ K, torch.eye(65), atol=1e-5)
        return float(torch.linalg.matrix_power(K[:64, :64], steps).square().sum()) / 64

    assert kept(None) < 0.001
    assert kept(10.0) < 0.05
    assert kept(1000.0) > 0.2


@settings(max_examples=25, deadline=None)
@given(
    inputs=st.integers(1, 3), states=st.integers(1, 7), outputs=st.integers(3, 6), steps=st.integers(1, 9),
    gain=st.floats(0.1, 5.0), seed=st.integers(0, 1000),
)  # fmt: skip
def test_without_activation_no_energy_is_lost(inputs, states, outputs, steps, gain, seed):
    torch.manual_seed(seed)
    layer = CertifiedRNN(
        inputs, states, outputs=outputs, gain=gain, activation=Contraction.IDENTITY, dtype=torch.float64
    )
    layer = trained(layer, seed)
    one, two = torch.randn(2, steps, 1, inputs, dtype=torch.float64)
    (y1, (z1, _)), (y2, (z2, _)) = layer(one), layer(two)
    kept = (z1 - z2).square().sum() + (y1 - y2).square().sum()
    # The orthogonal matrix it starts from has the precision that it was drawn with.
    assert torch.allclose(kept, gain**2 * (one - two).square().sum(), rtol=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    layers=st.integers(1, 3), bidirectional=st.booleans(), activation=st.sampled_from(list(Contraction)),
    steps=st.integers(1, 12), gain=st.floats(0.2, 4.0), ragged=st.booleans(), seed=st.integers(0, 1000),
)  # fmt: skip
def test_outputs_never_change_more_than_the_gain_times_the_inputs(
    layers, bidirectional, activation, steps, gain, ragged, seed
):
    torch.manual_seed(seed)
    layer = CertifiedRNN(
        2, 5, layers, outputs=3, gain=gain, bidirectional=bidirectional, activation=activation, dtype=torch.float64
    )
    layer = trained(layer, seed)
    lengths = torch.randint(0, steps + 1, (4,)) if ragged else None
    one = torch.randn(steps, 4, 2, dtype=torch.float64)
    two = one + 10.0 ** torch.randint(-6, 2, (1,)) * torch.randn_like(one)
    y1, y2 = (layer(x, lengths=lengths)[0] for x in (one, two))
    seen = one - two
    if lengths is not None:
        seen = seen * (torch.arange(steps).unsqueeze(1) < lengths).unsqueeze(-1)
    moved, given_ = (change.square().sum((0, 2)).sqrt() for change in (y1 - y2, seen))
    assert (moved <= gain * given_ * (1 + 1e-5) + 1e-12).all()
    assert layer.gain().total == pytest.approx(gain)


def test_maxmin_is_a_permutation_with_its_gradient():
    v = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
    w = maxmin(v)
    assert torch.equal(w.sort(dim=1).values, v.sort(dim=1).values)
    assert (w[:, ::2] >= w[:, 1::2]).all()
    (slope,) = torch.autograd.grad((w * torch.arange(8.0)).sum(), v)
    assert torch.equal(slope.sort(dim=1).values, torch.arange(8.0, dtype=torch.float64).expand(5, 8))


def test_noise_of_one_key_cancels_and_other_noise_does_not():
    layer = trained(CertifiedRNN(1, 6, outputs=4, additive=0.5, dtype=torch.float64))
    one, two = torch.randn(2, 30, 1, 1, dtype=torch.float64)
    quiet = layer(one, noise=False)[0]
    loud = [layer(x, noise=True, key=Key(value=3))[0] for x in (one, two)]
    assert not torch.allclose(quiet, loud[0])
    assert (loud[0] - loud[1]).norm() <= (one - two).norm() * (1 + 1e-6)


def test_gains_by_channel_scale_their_channels():
    torch.manual_seed(0)
    apart = trained(CertifiedRNN(2, 6, outputs=4, gain=(2.0, 0.5), dtype=torch.float64))
    torch.manual_seed(0)
    plain = trained(CertifiedRNN(2, 6, outputs=4, dtype=torch.float64))
    x = torch.randn(7, 3, 2, dtype=torch.float64)
    assert torch.allclose(apart(x)[0], plain(x * torch.tensor([2.0, 0.5], dtype=torch.float64))[0])
    assert apart.gain().channels.tolist() == [2.0, 0.5]


def test_a_stream_gives_what_the_whole_sequence_gives():
    layer = trained(CertifiedRNN(2, 6, 2, outputs=4, additive=0.1))
    x, key = torch.randn(9, 2, 2), Key(value=5)
    stream = Stream(layer, noise=True, key=key)
    pieces = torch.cat([stream(x[:4]), stream(x[4:5]), stream(x[5:])])
    assert torch.allclose(pieces, layer(x, noise=True, key=key)[0], atol=1e-6)


def test_the_readout_others_read_has_rows_of_equal_length_and_is_the_one_in_use():
    network = Certified(hidden=6, outputs=4, temperature=7.0).build(1, 3)
    assert isinstance(network.readout, EqualRows)
    with torch.no_grad():
        network.readout.direction.mul_(torch.tensor([[1.0], [10.0], [0.1]]))
        network.readout.offset.normal_()
    assert torch.allclose(network.readout.weight.norm(dim=1), torch.full((3,), 7.0))
    x = torch.randn(2, 5, 1)
    by_hand = network.features(x) @ network.readout.weight.mT + network.readout.bias
    assert torch.allclose(network(x), by_hand, atol=1e-6)


def test_the_mean_is_that_of_the_outputs():
    layer = trained(CertifiedRNN(2, 6, outputs=4, bidirectional=True, batch_first=True))
    x, lengths = torch.randn(3, 8, 2), torch.tensor([8, 3, 0])
    outputs, _ = layer(x, lengths=lengths)
    mean, _ = layer(x, lengths=lengths, mean=True)
    assert torch.allclose(mean, outputs.sum(1) / torch.tensor([8.0, 3.0, 1.0]).unsqueeze(1), atol=1e-6)
    assert Classifier(layer, 3, pooling=Pooling.MEAN).features(x, lengths=lengths).equal(mean)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"outputs": 3}, "even number"),
        ({"gain": 0.0}, "gain must be above 0"),
        ({"gain": (1.0, 2.0)}, "one for each of the 1 inputs"),
        ({"additive": -1.0}, "at least 0"),
        ({"num_layers": 0}, "num_layers"),
        ({"memory": 1.0}, "at least 2 steps"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        CertifiedRNN(1, 4, **{"outputs": 4, **wrong})


def test_weights_that_are_not_finite_have_no_gain():
    layer = CertifiedRNN(1, 4, outputs=4)
    with torch.no_grad():
        layer.cells[0].b[0] = torch.nan
    with pytest.raises(NoGain, match="not finite"):
        layer.gain()
