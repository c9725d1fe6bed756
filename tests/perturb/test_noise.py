"""The paper's perturbations do what their formulas say."""

import math

import torch
from signals import close, seeded, signal

from noisyrnn.perturb import Multiplicative, NoiseUpTo, Salt, SaltAndPepper, Uniform, White


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


def test_uniform_noise_fills_the_interval_from_zero_to_sigma():
    noise = Uniform(sigma=0.3)(torch.full((100, 500, 2), 1.7, dtype=torch.float64), seeded(0)) - 1.7
    spread = 0.3 / math.sqrt(12)
    assert close(noise, 0.15, spread)
    assert close((noise - 0.15) ** 2, spread**2, spread**2 * math.sqrt(0.8))  # its kurtosis is 1.8
    assert float(noise.min()) >= 0
    assert float(noise.max()) < 0.3
    assert close((noise[:, 1:] - 0.15) * (noise[:, :-1] - 0.15), 0.0, spread**2)


def test_salt_lights_a_share_and_leaves_the_rest():
    x = signal((100, 500, 1), 1)
    spoilt = Salt(probability=0.1)(x, seeded(0))
    lit = spoilt == x.max()
    assert close(lit.float(), 0.1, math.sqrt(0.1 * 0.9))
    assert torch.equal(spoilt[~lit], x[~lit])


def test_noise_of_unknown_strength_is_uniform_in_strength_for_each_sample_and_kind():
    x = torch.full((2000, 100, 1), 2.0, dtype=torch.float64)
    noise = NoiseUpTo(sigma=0.6, ratio=0.5)(x, seeded(0)) - x
    # E (s^2 + (2 r s')^2) with E s^2 = 0.6^2 / 3; the strengths of 2000 samples are what varies.
    assert abs(float(noise.square().mean()) - 0.24) < 0.01
    of_samples = NoiseUpTo(sigma=0.6, ratio=0.0)(x, seeded(0)).std(1).flatten() / 0.6
    assert torch.allclose(
        of_samples.quantile(torch.tensor([0.25, 0.5, 0.75]).double()),
        torch.tensor([0.25, 0.5, 0.75]).double(),
        atol=0.05,
    )
    proportional = NoiseUpTo(sigma=0.6, ratio=1.0)(torch.zeros_like(x), seeded(1))
    assert torch.equal(proportional, NoiseUpTo(sigma=0.6, ratio=0.0)(torch.zeros_like(x), seeded(1)))
