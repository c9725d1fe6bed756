"""The four demonstrations show what they claim."""

import pytest
import torch

from noisyrnn.sde import DriftNoise
from noisyrnn.theory.known.demonstrations import (
    antisymmetric_network,
    chaotic_network,
    growing_line,
    provable_network,
)


def inside(found):
    room = 5 * found.errors + 1e-3  # without noise the errors vanish and what is left of the bias, O(dt^2), shows
    return (found.lower - room <= found.estimates) & (found.estimates <= found.upper + room)


def test_noise_stabilises_a_growing_line():
    found = growing_line(strengths=(0.0, 0.6, 1.4), steps=300)
    assert torch.all((found.estimates - found.truth).abs() <= 3 * found.errors + 1e-3)
    assert found.truth[0] > 0 > found.truth[-1]
    assert torch.allclose(found.lower, found.upper)


def test_noise_stabilises_a_network_provably():
    found = provable_network(strengths=(0.0, 1.6), steps=600)
    assert torch.all(inside(found))
    assert found.estimates[0] - 5 * found.errors[0] > 0
    assert found.upper[1] < 0
    assert abs(float(found.estimates[1]) + 1.054) < 4 * float(found.errors[1])


def test_the_paper_s_noise_destabilises():
    found = antisymmetric_network(strengths=(0.0, 0.5, 1.0), steps=600, samples=64)
    assert torch.all(inside(found))
    assert torch.all((found.estimates - found.truth).abs() <= 4 * found.errors + 1e-3)
    assert torch.all(found.truth.diff() > 0)
    assert torch.all(found.printed_upper[1:] < found.truth[1:])


def test_chaos_and_the_paper_s_noise():
    found = chaotic_network(lambda s: DriftNoise(multiplicative=s), strengths=(0.6,), steps=1000, title="paper")
    assert torch.all(inside(found))
    assert float(found.estimates[0]) == pytest.approx(0.086, abs=4 * float(found.errors[0]))
