"""Figures of the demonstrations."""

import pytest

from noisyrnn.sde import DriftNoise
from noisyrnn.theory.known.demonstrations import chaotic_network
from noisyrnn.theory.known.figures import comparison_figure, exponent_figure


@pytest.fixture(scope="module")
def found():
    return chaotic_network(lambda s: DriftNoise(multiplicative=s), strengths=(0.6,), steps=100, title="paper")


def test_the_frame_follows_the_estimates_where_the_interval_is_far_wider(found):
    wide = exponent_figure(found).axes[0]
    assert wide.get_ylim()[1] < float(found.upper[0])


def test_several_demonstrations_share_a_frame(found):
    assert len(comparison_figure([found, found], title="two").axes[0].containers) == 2
