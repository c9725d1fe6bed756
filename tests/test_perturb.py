"""Perturbations do what their formulas say.

Statistics: a mean of n numbers with standard deviation s is accepted within 5 s / sqrt(n), a false-alarm rate
of 6e-7 for each comparison under the normal approximation; the seeds are fixed, so a failure is a change.
"""

import inspect
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from noisyrnn.perturb import (
    BaselineWander,
    Bursts,
    Clipping,
    Drift,
    DroppedSamples,
    Multiplicative,
    Perturbation,
    Quantisation,
    SaltAndPepper,
    TimeJitter,
    White,
)

ALL = [
    White(sigma=0.3),
    Multiplicative(sigma=0.3),
    SaltAndPepper(probability=0.2, low=-3, high=3),
    DroppedSamples(probability=0.3),
    DroppedSamples(probability=0.3, hold=False, fill=9.0),
    Bursts(sigma=0.5, rate=0.2, duration=3),
    Drift(sigma=0.4),
    BaselineWander(sigma=0.4, period=7),
    Clipping(fraction=0.4, low=-3, high=3),
    TimeJitter(sigma=0.8),
    Quantisation(step=0.25),
]
FALSE_ALARM = 5.0  # standard errors

any_fault = st.sampled_from(ALL)
shapes = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 3))
seeds = st.integers(0, 2**32)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def signal(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    # Inside (-3, 3), the range that the settings above name.
    return (torch.rand(shape, generator=seeded(seed), dtype=torch.float64) * 5.8 - 2.9).to(dtype)


def close(measured: torch.Tensor, expected: float, deviation: float) -> bool:
    return abs(float(measured.double().mean()) - expected) < FALSE_ALARM * deviation / math.sqrt(measured.numel())


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


def test_white_has_the_stated_standard_deviation():
    noise = White(sigma=0.3)(torch.full((100, 500, 2), 1.7, dtype=torch.float64), seeded(0)) - 1.7
    assert close(noise, 0.0, 0.3)
    assert close(noise**2, 0.09, 0.09 * math.sqrt(2))
    assert close(noise[:, 1:] * noise[:, :-1], 0.0, 0.09)  # neighbours in time
    assert close(noise[1:] * noise[:-1], 0.0, 0.09)  # neighbours in the batch
    assert close(noise[..., 0] * noise[..., 1], 0.0, 0.09)


def test_multiplicative_has_mean_one_and_the_stated_standard_deviation():
    x = torch.full((100, 500, 2), -2.0, dtype=torch.float64)
    factor = Multiplicative(sigma=0.4)(x, seeded(0)) / x
    assert close(factor, 1.0, 0.4)
    assert close((factor - 1) ** 2, 0.16, 0.16 * math.sqrt(2))


def test_salt_and_pepper_go_half_to_each_extreme_of_the_data():
    x = signal((100, 500, 1), 1)
    spoilt = SaltAndPepper(probability=0.1)(x, seeded(0))
    highest, lowest = spoilt == x.max(), spoilt == x.min()
    share = math.sqrt(0.05 * 0.95)
    assert close(highest.float(), 0.05, share)
    assert close(lowest.float(), 0.05, share)
    assert torch.equal(spoilt[~highest & ~lowest], x[~highest & ~lowest])


def test_salt_and_pepper_use_the_range_that_is_given():
    spoilt = SaltAndPepper(probability=1.0, low=-7, high=5)(signal((10, 50, 1), 1), seeded(0))
    assert set(spoilt.unique().tolist()) == {-7.0, 5.0}


def test_a_dropped_instant_repeats_the_last_that_arrived():
    x = torch.arange(1.0, 1001.0).reshape(10, 100, 1).expand(-1, -1, 2).contiguous()
    received = DroppedSamples(probability=0.4, fill=0.0)(x, seeded(0))
    previous = torch.cat([torch.zeros(10, 1, 2), received[:, :-1]], dim=1)
    lost = received != x
    assert torch.equal(lost[..., 0], lost[..., 1])
    assert torch.equal(received[lost], previous[lost])
    assert close(lost[..., 0].float(), 0.4, math.sqrt(0.24))


def test_bursts_cover_the_predicted_share_in_runs_of_at_least_their_duration():
    x = torch.zeros(400, 300, 1)
    loud = Bursts(sigma=2.0, rate=0.02, duration=5)(x, seeded(0))
    covered = (loud != 0)[..., 0]
    share = 1 - 0.98**5
    # Neighbouring instants are dependent: a run of five counts as one observation, hence the factor sqrt(5).
    assert close(covered[:, 5:].float(), share, math.sqrt(5 * share * (1 - share)))
    assert close(loud[loud != 0] ** 2, 4.0, 4.0 * math.sqrt(2))
    begins = covered[:, 1:-5] & ~covered[:, :-6]
    sample, instant = begins.nonzero(as_tuple=True)
    for later in range(5):
        assert covered[sample, instant + 1 + later].all()


def test_drift_grows_as_the_square_root_of_time():
    walk = Drift(sigma=0.5)(torch.zeros(20000, 16, 1), seeded(0))
    for instant in (1, 4, 16):
        variance = 0.25 * instant / 16
        assert close(walk[:, instant - 1] ** 2, variance, variance * math.sqrt(2))
    steps = walk.diff(dim=1)
    assert close(steps[:, 1:] * steps[:, :-1], 0.0, 0.25 / 16)


def test_wander_is_a_wave_of_the_stated_period_and_deviation():
    wave = BaselineWander(sigma=0.5, period=20)(torch.zeros(20000, 41, 1), seeded(0))
    torch.testing.assert_close(wave[:, :21], wave[:, 20:], atol=1e-5, rtol=0)
    torch.testing.assert_close(wave[:, :10], -wave[:, 10:20], atol=1e-5, rtol=0)
    assert close(wave[:, 7] ** 2, 0.25, 0.25 / math.sqrt(2))  # the square of a sine has variance 1/8 of amplitude^4


def test_clipping_keeps_the_middle_of_the_range():
    x = torch.linspace(-3, 3, 61).reshape(1, 61, 1)
    held = Clipping(fraction=0.5)(x, seeded(0))
    assert (held.min(), held.max()) == (-1.5, 1.5)
    assert torch.equal(held[x.abs() <= 1.5], x[x.abs() <= 1.5])


def test_jitter_reads_a_straight_line_at_the_wrong_times():
    slope = torch.tensor([1.0, -2.0])
    line = torch.arange(200.0)[None, :, None] * slope + torch.zeros(300, 1, 1)
    error = ((TimeJitter(sigma=0.7)(line, seeded(0)) - line) / slope)[:, 10:-10]
    torch.testing.assert_close(error[..., 0], error[..., 1], atol=1e-3, rtol=0)  # one clock for all channels
    assert close(error[..., 0], 0.0, 0.7)
    assert close(error[..., 0] ** 2, 0.49, 0.49 * math.sqrt(2))


def test_quantisation_errs_by_at_most_half_a_step():
    x = signal((10, 200, 1), 0, torch.float64)
    coarse = Quantisation(step=0.3)(x, seeded(0))
    assert float((coarse - x).abs().max()) <= 0.15 + 1e-12
    torch.testing.assert_close(coarse / 0.3, (coarse / 0.3).round())


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
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
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
