"""Faults of sensors do what their formulas say."""

import math

import torch
from signals import close, seeded, signal

from noisyrnn.perturb import BaselineWander, Bursts, Clipping, Drift, DroppedSamples, Quantisation, TimeJitter


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
