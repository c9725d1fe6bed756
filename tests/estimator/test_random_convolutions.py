"""Random convolutions: the printed formula, series of any length, channels, and what smoothing is for."""

from itertools import combinations

import numpy as np
import pytest
import torch

from noisyrnn.estimator.random_convolutions import RandomConvolutions, RandomConvolutionsSetting


def drawn(x, lengths=None, *, features=1500, seed=0):
    convolutions = RandomConvolutions(RandomConvolutionsSetting(steps=x.shape[1], features=features), x.shape[2])
    convolutions.draw(x, lengths, torch.Generator().manual_seed(seed))
    return convolutions


def by_the_formula(convolutions, x):
    """Shares of one series (time, inputs), with loops."""
    setting, end = convolutions.setting, len(x)
    found = []
    for width, smoothing in enumerate(setting.widths):
        half = smoothing // 2
        triangle = 1 + half - np.abs(np.arange(-half, half + 1))
        near = np.clip(np.arange(end)[:, None] + np.arange(-half, half + 1), 0, end - 1)
        smooth = np.einsum("twc,w->tc", x[near], triangle / triangle.sum())
        for place, dilation in enumerate(setting.dilations):
            instants = np.arange(0, end, setting.stride)
            window = smooth[np.clip(instants[:, None] + dilation * (np.arange(9) - 4), 0, end - 1)]
            for bias in range(setting.biases):
                for kernel, heavy in enumerate(combinations(range(9), 3)):
                    weights = np.where(np.isin(np.arange(9), heavy), 2.0, -1.0)
                    chosen = convolutions.channels[width, place, kernel].numpy()
                    value = np.einsum("twc,w,c->t", window, weights, chosen)
                    found.append((value > float(convolutions.biases[width, place, kernel, bias])).mean())
    return np.array(found)


@pytest.mark.parametrize(("steps", "inputs"), [(30, 1), (30, 3), (600, 1)])
def test_features_are_those_of_the_formula(steps, inputs):
    x = torch.randn(3, steps, inputs, generator=torch.Generator().manual_seed(1))
    x[0, 5:15] = x[0, 5]  # it stands still for a while
    convolutions = drawn(x, features=700)
    expected = by_the_formula(convolutions, x[0].double().numpy())
    assert np.abs(convolutions(x)[0].numpy() - expected).max() < 1e-6


def test_series_do_not_depend_on_their_company_nor_on_what_lies_beyond_their_end():
    x, lengths = torch.randn(20, 40, 2), torch.arange(20) * 2 + 1
    convolutions = drawn(x, lengths)
    together = convolutions(x, lengths)
    for row, end in enumerate(lengths.tolist()):
        alone = convolutions(x[row : row + 1, :end])
        assert (alone[0] - together[row]).abs().max() < 1e-6
    noise = torch.where(torch.arange(40) < lengths[:, None], 0.0, 1e6).unsqueeze(-1)
    assert torch.equal(convolutions(x + noise, lengths), together)


def test_levels_do_not_matter_and_biases_divide_the_values():
    x = torch.randn(30, 100, 1)
    convolutions = drawn(x)
    shares = convolutions(x)
    assert ((convolutions(x + 3.0) - shares).abs() > 0.02).float().mean() < 0.01
    assert abs(float(shares.mean()) - 0.5) < 0.05
    assert float(((shares > 0.02) & (shares < 0.98)).float().mean()) > 0.9


def test_noise_moves_smoothed_copies_less():
    t = torch.linspace(0, 20, 300)
    x = torch.sin(t + torch.rand(20, 1) * 6).unsqueeze(-1)
    convolutions = drawn(x)
    moved = (convolutions(x + 0.3 * torch.randn_like(x)) - convolutions(x)).abs().mean(0)
    raw, _, smooth = moved.reshape(3, -1).mean(1).tolist()
    assert smooth < 0.6 * raw


@pytest.mark.parametrize("steps", [1, 2, 8, 9, 17, 5000])
def test_any_length_has_features(steps):
    x = torch.randn(4, steps, 1)
    found = drawn(x)(x)
    assert found.isfinite().all()
    assert found.min() >= 0
    assert found.max() <= 1
