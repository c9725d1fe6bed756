"""The mixture of faults: kinds do what they say, strengths differ by series, one setting through JSON."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.perturb import FaultMixture, Strengths
from noisyrnn.perturb.series_faults import KINDS
from noisyrnn.setting import InvalidSetting


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def waves(batch=200, time=100, channels=2):
    phase = torch.rand(batch, 1, channels, generator=source(9)) * 2 * math.pi
    return math.sqrt(2) * torch.sin(torch.linspace(0, 4 * math.pi, time)[None, :, None] + phase)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "clip"])
def test_strength_0_changes_nothing(kind):
    x = waves(5)
    assert torch.allclose(FaultMixture.only(kind, 0.0)(x, source()), x, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stronger_fault_moves_a_series_further(kind):
    x = waves()
    mild, strong = (0.1, 0.3) if kind != "clip" else (1.2, 0.4)
    moved = [float((FaultMixture.only(kind, level)(x, source()) - x).square().mean()) for level in (mild, strong)]
    assert 0 < moved[0] < moved[1]


@given(st.integers(1, 6), st.integers(1, 30), st.integers(1, 3), st.integers(0, 99))
def test_any_shape_stays_finite_and_empty_beyond_its_length(batch, time, channels, seed):
    x = torch.randn(batch, time, channels, generator=source(seed))
    lengths = torch.randint(1, time + 1, (batch,), generator=source(seed))
    x = x * (torch.arange(time) < lengths[:, None])[..., None]
    faulty = FaultMixture(probability=1.0, clean=0.0)(x, source(seed), lengths=lengths)
    assert faulty.shape == x.shape
    assert faulty.isfinite().all()
    assert (faulty[torch.arange(time) >= lengths[:, None]] == 0).all()


def test_padding_does_not_leak_into_a_series():
    x, lengths = waves(50, 40), torch.full((50,), 25)
    padded = x.clone()
    padded[:, 25:] = 1e6
    for kind in ("warp", "jitter", "hold"):
        faulty = FaultMixture.only(kind, 0.2)(padded, source(), lengths=lengths)
        assert faulty[:, :25].abs().max() < 2


def test_statistics_of_the_kinds():
    x = torch.zeros(4000, 50, 1)
    assert FaultMixture.only("white", 0.7)(x, source()).std() == pytest.approx(0.7, rel=0.02)
    assert FaultMixture.only("drift", 0.7)(x, source())[:, -1].std() == pytest.approx(0.7, rel=0.05)
    assert FaultMixture.only("wander", 0.7)(x, source()).std() == pytest.approx(0.7, rel=0.02)
    ones = torch.ones(4000, 50, 1)
    assert (FaultMixture.only("burst", 0.2)(ones, source()) == 0).float().mean() == pytest.approx(0.2, rel=0.05)
    assert (FaultMixture.only("zero", 0.2)(ones, source()) == 0).float().mean() == pytest.approx(0.2, rel=0.02)
    spiked = FaultMixture.only("spikes", 0.1, size=3.0)(ones, source())
    assert set(spiked.unique().tolist()) == {-2.0, 1.0, 4.0}
    assert (spiked != 1).float().mean() == pytest.approx(0.1, rel=0.05)
    assert FaultMixture.only("multiplicative", 0.3)(ones, source()).std() == pytest.approx(0.3, rel=0.02)
    ramp = torch.arange(50.0).expand(4000, 50)[..., None]
    held = FaultMixture.only("hold", 0.3)(ramp, source())
    assert (held <= ramp).all()
    assert (held[:, 1:] != ramp[:, 1:]).float().mean() == pytest.approx(0.3, rel=0.05)


def test_a_quarter_stays_clean_and_strengths_differ():
    x = torch.zeros(4000, 20, 1)
    mixture = FaultMixture(kinds=(Strengths(kind="white", low=0.5, high=1.0),), probability=1.0)
    spread = mixture(x, source()).std(1).squeeze(1)
    assert float((spread == 0).float().mean()) == pytest.approx(0.25, abs=0.03)
    dirty = spread[spread > 0]
    assert float(dirty.mean()) == pytest.approx(0.75, abs=0.03)
    assert float(dirty.std()) > 0.14  # the strength's own deviation, 0.144, and the estimate's
    touched = (FaultMixture(clean=0.0)(waves(4000, 20), source()) != waves(4000, 20)).flatten(1).any(1)
    assert float(touched.float().mean()) == pytest.approx(1 - 0.75**9, abs=0.04)


def test_the_same_generator_gives_the_same_faults_and_one_series_is_a_batch_of_one():
    x = waves(6)
    assert torch.equal(FaultMixture()(x, source(3)), FaultMixture()(x, source(3)))
    assert torch.equal(FaultMixture()(x[0], source(3)), FaultMixture()(x[:1], source(3))[0])
    torch.manual_seed(1)
    first = FaultMixture(clean=0.0)(x)
    assert not torch.equal(first, FaultMixture(clean=0.0)(x))


def test_a_mixture_is_a_setting():
    mixture = FaultMixture(kinds=(Strengths(kind="spikes", high=0.1, sizes=(2, 5)),), clean=0.5)
    assert FaultMixture.model_validate_json(mixture.model_dump_json()) == mixture
    with pytest.raises(InvalidSetting, match="begins below its end"):
        Strengths(kind="white", low=2.0, high=1.0)
    with pytest.raises(ValueError, match="white"):
        FaultMixture.only("whit", 0.1)
    with pytest.raises(ValueError, match="floating point"):
        FaultMixture()(torch.zeros(3, 4, 1, dtype=torch.int64))
