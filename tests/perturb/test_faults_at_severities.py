"""Faults that are graded do what their formulas say, and grow with their severity."""

import itertools
import math

import pytest
import torch
from signals import close, seeded, signal

from noisyrnn.perturb import (
    Bias,
    Compress,
    DeadChannel,
    Drift,
    ElectrodeMotion,
    FourierMode,
    Gain,
    Gap,
    Hum,
    LostSamples,
    MuscleArtefact,
    Shift,
    Spikes,
    Spread,
    Stretch,
    Stuck,
    severities,
)

TABLE = severities("all")


def test_bias_is_one_offset_for_a_series_up_or_down():
    away = Bias(offset=0.3)(torch.zeros(4000, 5, 2), seeded(0))
    assert torch.equal(away, away[:, :1].expand_as(away))
    assert torch.equal(away.abs(), torch.full_like(away, 0.3))
    assert close(away[:, 0], 0.0, 0.3)
    assert close(away[:, 0, 0] * away[:, 0, 1], 0.0, 0.09)  # channels by themselves


def test_gain_is_one_of_two_factors():
    x = signal((4000, 5, 1), 1)
    factor = (Gain(change=0.8)(x, seeded(0)) / x)[:, 0, 0]
    louder = factor > 1
    torch.testing.assert_close(factor[louder], torch.full_like(factor[louder], 1.8))
    torch.testing.assert_close(factor[~louder], torch.full_like(factor[~louder], 0.4))
    assert close(louder.float(), 0.5, 0.5)


def test_spikes_are_rare_uniform_and_of_either_sign():
    spikes = Spikes(height=7.5, probability=0.05)(torch.zeros(400, 500, 1), seeded(0))
    hit = spikes != 0
    assert close(hit.float(), 0.05, math.sqrt(0.05 * 0.95))
    assert float(spikes.abs().max()) <= 7.5
    assert close(spikes[hit], 0.0, 7.5 / math.sqrt(3))
    assert close(spikes[hit] ** 2, 7.5**2 / 3, 7.5**2 * math.sqrt(1 / 5 - 1 / 9))


def test_a_ramp_ends_at_sigma_and_follows_lengths():
    ramp = Drift(sigma=2.0, ramp=True)(torch.zeros(2, 10, 1), seeded(0), lengths=torch.tensor([10, 5]))
    torch.testing.assert_close(ramp[0, :, 0].abs(), torch.arange(1, 11) / 5)
    torch.testing.assert_close(ramp[1, :, 0].abs(), torch.cat([torch.arange(1, 6) / 2.5, torch.zeros(5)]))


def test_hum_has_the_stated_period_and_deviation():
    hum = Hum(sigma=0.5, period=5)(torch.zeros(20000, 10, 1), seeded(0))
    torch.testing.assert_close(hum[:, :5], hum[:, 5:], atol=1e-5, rtol=0)
    assert close(hum[:, 3] ** 2, 0.25, 0.25 / math.sqrt(2))


def test_a_fourier_mode_has_one_line_in_its_spectrum_evenly_drawn():
    mode = FourierMode(sigma=0.5)(torch.zeros(20000, 16, 1), seeded(0))[..., 0]
    power = torch.fft.rfft(mode).abs().square()
    line = power.argmax(dim=1)
    assert float(line.min()) == 1
    assert float(line.max()) == 8
    assert close((line == 3).float(), 1 / 8, math.sqrt(7 / 64))
    inner = line < 8  # at half the rate the sine's size depends on its phase
    assert float((power.sum(1) - power.gather(1, line[:, None])[:, 0])[inner].max()) < 1e-3
    torch.testing.assert_close(mode[inner].square().mean(1), torch.full((int(inner.sum()),), 0.25), atol=1e-4, rtol=0)


def test_electrode_motion_has_the_stated_deviation_and_memory():
    motion = ElectrodeMotion(sigma=0.5, rate=0.2, settle=4)(torch.zeros(40000, 12, 1), seeded(0))[..., 0]
    for instant in (0, 3, 11):  # fourth moments of sparse jumps are large
        assert close(motion[:, instant] ** 2, 0.25, 0.25 * 3)
    correlation = (motion[:, 4:] * motion[:, 3:-1]).mean() / 0.25
    assert abs(float(correlation) - 0.75) < 0.02


def test_muscle_artefact_has_no_slow_part():
    noise = MuscleArtefact(sigma=0.5)(torch.zeros(400, 500, 1), seeded(0))[..., 0]
    assert close(noise**2, 0.25, 0.25 * 2)
    assert abs(float((noise[:, 1:] * noise[:, :-1]).mean()) / 0.25 + 0.5) < 0.01  # neighbours: -1/2
    assert float(noise.sum(1).abs().max()) < 0.5 * 6  # a telescope


def test_a_stuck_stretch_has_the_stated_length_anywhere_in_the_series():
    x = torch.arange(1.0, 11.0).reshape(1, 10, 1).repeat(8000, 1, 2)
    held = Stuck(share=0.4)(x, seeded(0))
    still = held.diff(dim=1)[..., 0] == 0
    assert torch.equal(still.sum(1), torch.full((8000,), 3))
    begin = still.float().argmax(1)
    assert close((begin == 6).float(), 1 / 7, math.sqrt(6 / 49))
    assert close((begin == 0).float(), 1 / 7, math.sqrt(6 / 49))
    assert torch.equal(held[..., 0], held[..., 1])


def test_a_gap_repeats_what_came_before_or_reads_fill():
    x = torch.arange(1.0, 11.0).reshape(1, 10, 1).repeat(100, 1, 1)
    held, filled = Gap(share=0.3)(x, seeded(0)), Gap(share=0.3, hold=False, fill=-5.0)(x, seeded(0))
    lost = filled == -5.0
    assert torch.equal(lost.sum(1), torch.full((100, 1), 3))
    assert torch.equal(held[~lost], x[~lost])
    before = torch.cat([torch.zeros(100, 1, 1), held[:, :-1]], dim=1)
    assert torch.equal(held[lost], before[lost])


def test_lost_samples_follow_their_chain():
    x = torch.arange(1.0, 2001.0).reshape(1, 2000, 1).repeat(200, 1, 1)
    lost = (LostSamples(start=0.1, stay=0.8, hold=False, fill=0.0)(x, seeded(0)) == 0)[..., 0]
    after_lost, after_arrival = lost[:, 1:][lost[:, :-1]], lost[:, 1:][~lost[:, :-1]]
    assert close(after_lost.float(), 0.8, 0.4)
    assert close(after_arrival.float(), 0.1, 0.3)
    assert close(lost[:, 0].float(), 0.1, 0.3)


def test_one_channel_dies_and_the_others_live():
    x = signal((6000, 10, 3), 0) + 10
    dead = DeadChannel(share=0.4, fill=0.0)(x, seeded(0)) == 0
    assert torch.equal(dead.sum((1, 2)), torch.full((6000,), 4))
    assert torch.equal(dead[:, 6:].any(1), dead.any(1))
    assert torch.equal(dead.any(1).sum(1), torch.ones(6000, dtype=torch.long))
    assert close(dead[:, -1, 0].float(), 1 / 3, math.sqrt(2) / 3)


def test_a_shift_moves_either_way_and_holds_the_ends():
    x = torch.arange(10.0).reshape(1, 10, 1).repeat(3000, 1, 1)
    moved = Shift(share=0.2)(x, seeded(0))
    late = moved[:, 5, 0] == 3
    torch.testing.assert_close(moved[late][..., 0], (x[late][..., 0] - 2).clamp(min=0))
    torch.testing.assert_close(moved[~late][..., 0], (x[~late][..., 0] + 2).clamp(max=9))
    assert close(late.float(), 0.5, 0.5)


def test_rates_read_a_straight_line_where_they_should():
    line = torch.arange(12.0).reshape(1, 12, 1)
    slow, fast = Stretch(change=0.5)(line, seeded(0)), Compress(change=0.5)(line, seeded(0))
    torch.testing.assert_close(slow, line / 1.5)
    torch.testing.assert_close(fast, (1.5 * line).clamp(max=11.0))
    short = Compress(change=0.5)(line, seeded(0), lengths=torch.tensor([6]))
    assert short.flatten().tolist() == [0, 1.5, 3, 4.5, 5, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("name", TABLE)
def test_severities_grow_in_their_parameter_and_in_what_they_do(name):
    graded = TABLE[name]
    levels = [fault.level for fault in graded.faults]
    assert levels == sorted(set(levels))
    assert len(levels) == 5
    # Walks move further from themselves the later they are read, so that timing shows, too.
    x = torch.randn(300, 150, 2, generator=seeded(1)).cumsum(1)
    spread = Spread.of(x)
    away = [float((spread.disturbed(fault, x, seeded(3)) - x).square().mean()) for fault in graded.faults]
    assert all(later > earlier for earlier, later in itertools.pairwise(away))


def test_the_ecg_table_has_the_levels_of_the_noise_stress_test():
    for graded in severities("ecg").values():
        assert graded.labels == ("24 dB", "18 dB", "12 dB", "6 dB", "0 dB", "-6 dB")
        x = 3 + 2 * signal((200, 400, 1), 0)
        noise = Spread.of(x).disturbed(graded.at(4), x, seeded(0)) - x
        ratio = 10 * math.log10(float(x.var() / noise.square().mean()))
        assert abs(ratio - 6) < 0.5


def test_unknown_tables_and_severities_are_refused():
    with pytest.raises(ValueError, match="standard, ecg, all"):
        severities("wild")
    with pytest.raises(ValueError, match="severities 1 to 5"):
        TABLE["noise"].at(6)


def test_spread_is_of_each_channel_and_of_valid_instants():
    x = torch.stack([5 + 2 * signal((50, 40, 1), 0)[..., 0], torch.full((50, 40), 7.0)], dim=-1)
    lengths = torch.randint(1, 41, (50,), generator=seeded(0))
    inside = torch.cat([row[:count, 0] for row, count in zip(x, lengths, strict=True)]).double()
    spread = Spread.of(x, lengths)
    torch.testing.assert_close(spread.centre[0], inside.mean())
    torch.testing.assert_close(spread.unit[0], inside.std(correction=0))
    assert spread.unit[1] == 1.0  # a channel that never changes


def test_units_scale_with_the_data_and_untouched_numbers_keep_their_bits():
    x = signal((300, 64, 2), 0)
    scaled = x * torch.tensor([10.0, 0.1]) + torch.tensor([-4.0, 100.0])
    for graded in TABLE.values():
        fault = graded.at(3)
        small = Spread.of(x).disturbed(fault, x, seeded(5))
        large = Spread.of(scaled).disturbed(fault, scaled, seeded(5))
        back = (large - torch.tensor([-4.0, 100.0])) / torch.tensor([10.0, 0.1])
        if graded.name not in {"quantisation", "clipping"}:  # rounding may fall on the other side there
            torch.testing.assert_close(back, small, atol=2e-3, rtol=1e-3)
    gap = Spread.of(scaled).disturbed(Gap(share=0.5, hold=False), scaled, seeded(5))
    assert float((gap == scaled).float().mean()) == 0.5
