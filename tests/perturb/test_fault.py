"""What holds for every perturbation: repeatable, independent of the batch, JSON there and back."""

import inspect
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from signals import seeded, signal

from noisyrnn.perturb import (
    BaselineWander,
    Bias,
    Bursts,
    Clipping,
    Compress,
    DeadChannel,
    Drift,
    DroppedSamples,
    ElectrodeMotion,
    FourierMode,
    Gain,
    Gap,
    Hum,
    LostSamples,
    Multiplicative,
    MuscleArtefact,
    NoiseUpTo,
    Perturbation,
    Quantisation,
    Salt,
    SaltAndPepper,
    Shift,
    Spikes,
    Stretch,
    Stuck,
    TimeJitter,
    Uniform,
    White,
    WhiteUpTo,
)
from noisyrnn.setting import InvalidSetting

ALL = [
    White(sigma=0.3),
    Multiplicative(sigma=0.3),
    WhiteUpTo(sigma=0.3),
    NoiseUpTo(sigma=0.3, ratio=2.0),
    SaltAndPepper(probability=0.2, low=-3, high=3),
    Uniform(sigma=0.3),
    Salt(probability=0.2, low=-3, high=3),
    DroppedSamples(probability=0.3),
    DroppedSamples(probability=0.3, hold=False, fill=9.0),
    Bursts(sigma=0.5, rate=0.2, duration=3),
    Drift(sigma=0.4),
    BaselineWander(sigma=0.4, period=7),
    Clipping(fraction=0.4, low=-3, high=3),
    TimeJitter(sigma=0.8),
    Quantisation(step=0.25),
    Drift(sigma=0.4, ramp=True),
    BaselineWander(sigma=0.4, cycles=1.5),
    Bias(offset=0.3),
    Gain(change=0.4),
    Spikes(height=4.0, probability=0.2),
    Hum(sigma=0.4),
    FourierMode(sigma=0.4),
    ElectrodeMotion(sigma=0.5),
    MuscleArtefact(sigma=0.5),
    Stuck(share=0.5),
    Gap(share=0.4),
    Gap(share=0.4, hold=False, fill=9.0),
    LostSamples(start=0.2, stay=0.7),
    DeadChannel(share=0.6),
    DeadChannel(share=0.6, hold=True),
    Shift(share=0.3),
    Stretch(change=0.5),
    Compress(change=0.5),
]

any_fault = st.sampled_from(ALL)
shapes = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 3))
seeds = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(fault=any_fault, shape=shapes, seed=seeds, dtype=st.sampled_from([torch.float32, torch.float64]))
def test_result_is_new_and_repeatable(fault, shape, seed, dtype):
    x = signal(shape, seed, dtype)
    kept = x.clone()
    once, again = fault(x, seeded(seed)), fault(x, seeded(seed))
    assert once.shape == x.shape
    assert once.dtype == x.dtype
    assert torch.equal(once, again)
    assert torch.equal(x, kept)
    once.fill_(77.0)  # a result that shares memory with its input would show here
    assert torch.equal(x, kept)


@settings(max_examples=60, deadline=None)
@given(fault=any_fault, shape=shapes, seed=seeds)
def test_level_zero_is_the_identity(fault, shape, seed):
    x = signal(shape, seed)
    assert fault.at(0.0).level == 0.0
    assert torch.equal(fault.at(0.0)(x, seeded(seed)), x)


@settings(max_examples=80, deadline=None)
@given(fault=any_fault, shape=shapes, seed=seeds, cut=st.integers(0, 5))
def test_pieces_of_a_batch_get_what_the_whole_gets(fault, shape, seed, cut):
    x = signal(shape, seed)
    generator = seeded(seed)
    pieces = torch.cat([fault(x[:cut], generator), fault(x[cut:], generator)])
    assert torch.equal(pieces, fault(x, seeded(seed)))


@settings(max_examples=120, deadline=None)
@given(fault=any_fault, shape=shapes, seed=seeds, data=st.data())
def test_padding_stays_and_does_not_matter(fault, shape, seed, data):
    x = signal(shape, seed)
    lengths = torch.tensor([data.draw(st.integers(1, shape[1])) for _ in range(shape[0])])
    beyond = (torch.arange(shape[1]) >= lengths[:, None])[..., None].expand_as(x)
    other = torch.where(beyond, torch.full_like(x, 1e6), x)
    found, again = fault(x, seeded(seed), lengths=lengths), fault(other, seeded(seed), lengths=lengths)
    assert torch.equal(found[beyond], x[beyond])
    assert torch.equal(found[~beyond], again[~beyond])
    whole = torch.full((shape[0],), shape[1])
    assert torch.equal(fault(x, seeded(seed), lengths=whole), fault(x, seeded(seed)))


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.kind)
def test_single_and_double_precision_see_the_same_noise(fault):
    x = signal((4, 30, 2), 3)
    torch.testing.assert_close(fault(x.double(), seeded(1)).float(), fault(x, seeded(1)), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.kind)
def test_nothing_is_clamped_unless_bounds_are_given(fault):
    x = signal((8, 40, 1), 5)
    free = fault(x, seeded(2))
    held = fault.model_copy(update={"bounds": (-0.5, 0.5)})(x, seeded(2))
    assert float(free.abs().max()) > 0.5
    assert torch.equal(held, free.clamp(-0.5, 0.5))


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.kind)
def test_json_round_trip(fault):
    adapter = TypeAdapter(Perturbation)
    assert adapter.validate_json(adapter.dump_json(fault)) == fault


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: White(sigma=-0.1),
        lambda: White(sigma=math.nan),
        lambda: White(sigma=0.1, sgima=0.2),
        lambda: White(sigma=0.1, bounds=(1.0, 0.0)),
        lambda: SaltAndPepper(probability=1.5),
        lambda: SaltAndPepper(probability=0.5, low=1, high=0),
        lambda: Bursts(sigma=1.0, duration=0),
        lambda: BaselineWander(sigma=1.0, period=0),
        lambda: White(sigma=0.1).at(-1.0),
        lambda: LostSamples(start=0.9, stay=0.5),
        lambda: Stuck(share=1.5),
        lambda: Hum(sigma=1.0, period=1),
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InvalidSetting):
        wrong()


def test_settings_are_frozen_and_keyword_only():
    with pytest.raises(TypeError):
        White(0.1)
    with pytest.raises(ValidationError):
        White(sigma=0.1).sigma = 0.2


@pytest.mark.parametrize("x", [torch.ones(1, 2, 1, dtype=torch.int64), torch.ones(2, 1)])
def test_other_arrays_are_refused_with_a_remedy(x):
    call = inspect.unwrap(White.__call__)  # what users run: without the shape checks of the test suite
    with pytest.raises(ValueError, match=r"add the missing axis or convert with x\.float\(\)"):
        call(White(sigma=0.1), x, seeded(0))
