"""Noise contract: published generator, pure function of its address, right law."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from noisyrnn.sde.brownian import Key, coarsen, draw, fresh_key, uniform

MASK = (1 << 64) - 1


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox-4x64-10 from the paper of Salmon et al., in whole numbers."""
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * counter[0], 0xCA5A826395121157 * counter[2]
        counter = [(high >> 64) ^ counter[1] ^ key[0], high & MASK, (low >> 64) ^ counter[3] ^ key[1], low & MASK]
        key = [(key[0] + 0x9E3779B97F4A7C15) & MASK, (key[1] + 0xBB67AE8584CAA73B) & MASK]
    return counter


def test_published_generator_gives_its_known_answers():
    # Known-answer vectors distributed with the generator (Random123, philox4x64 with 10 rounds).
    assert philox([0] * 4, [0] * 2)[0] == 0x16554D9ECA36314C
    assert philox([MASK] * 4, [MASK] * 2)[0] == 0x87B092C3013FE90B


@pytest.mark.parametrize(("sample", "step", "unit"), [(0, 0, 0), (3, 2, 7), (1, 4, 8), (5, 1, 37), (2, 3, 15)])
def test_number_is_the_stated_function_of_its_address(sample, step, unit):
    key = Key(value=0xDEADBEEFCAFEF00D, stream=5)
    units, groups = 40, 3
    group, place = divmod(unit, 16)
    word = place % 8
    block = 2 * (step * groups + group) + word // 4
    bits = philox([1 + block, sample, 0, 0], [key.value, key.stream])[word % 4]
    low, high = np.uint32(bits & 0xFFFFFFFF), np.int32(np.uint32(bits >> 32).view(np.int32))
    u = float(np.float32(low) * np.float32(2.0**-32) + np.float32(2.0**-33))
    v = float(np.float32(high) * np.float32(2.0**-31))
    turn = math.cos if place < 8 else math.sin
    expected = math.sqrt(-2 * math.log(u)) * turn(math.pi * v)
    found = draw(key, samples=6, steps=5, units=units, dtype=torch.float64)[step, sample, unit]
    assert float(found) == pytest.approx(expected, abs=1e-13)

    bits = philox([1 + block, sample, 1, 0], [key.value, key.stream])[word % 4]
    half = bits & 0xFFFFFFFF if place < 8 else bits >> 32
    assert float(uniform(key, 6, 5, units)[step, sample, unit]) == (half >> 8) * 2.0**-24


@given(
    samples=st.integers(1, 9), steps=st.integers(1, 7), units=st.integers(1, 50), cut=st.integers(0, 9),
    late=st.integers(0, 7), value=st.integers(0, MASK), stream=st.integers(0, 2**33),
)  # fmt: skip
def test_splitting_a_batch_or_a_sequence_changes_nothing(samples, steps, units, cut, late, value, stream):
    key, cut, late = Key(value=value, stream=stream), min(cut, samples), min(late, steps)
    for law in (draw, uniform):
        whole = law(key, samples, steps, units)
        parts = [
            law(key, cut, steps, units),
            law(Key(value=value, stream=stream, sample=cut), samples - cut, steps, units),
        ]
        assert torch.equal(whole, torch.cat(parts, dim=1))
        assert torch.equal(whole[late:], law(key.later(late), samples, steps - late, units))


def test_same_numbers_from_any_thread_and_any_thread_count():
    key = Key(value=11)
    alone = draw(key, 8, 30, 20)
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda _: draw(key, 8, 30, 20), range(4)))
    assert all(torch.equal(alone, other) for other in together)
    torch.set_num_threads(2)
    try:
        assert torch.equal(alone, draw(key, 8, 30, 20))
    finally:
        torch.set_num_threads(1)


def test_single_and_double_precision_see_the_same_path():
    key = Key(value=3)
    assert torch.allclose(draw(key, 5, 40, 33).double(), draw(key, 5, 40, 33, dtype=torch.float64), atol=2e-6)


def test_law_of_the_numbers():
    # Each of the three tests below raises a false alarm with probability 1e-6; the key is fixed, so they never flicker.
    xi = draw(Key(value=20), samples=50, steps=100, units=40, dtype=torch.float64).numpy()
    assert stats.kstest(xi.ravel(), "norm").pvalue > 1e-6
    chance = uniform(Key(value=20), 50, 100, 40, dtype=torch.float64).numpy()
    assert stats.kstest(chance.ravel(), "uniform").pvalue > 1e-6
    # Independence of neighbours along each axis, and of the two channels: sample correlations are N(0, 1/n).
    bound = stats.norm.isf(0.5e-6 / 4)
    for one, other in [
        (xi[1:], xi[:-1]), (xi[:, 1:], xi[:, :-1]), (xi[..., 1:], xi[..., :-1]), (xi, chance - 0.5),
    ]:  # fmt: skip
        correlation = (one * other).mean() / (one.std() * other.std())
        assert abs(correlation) * math.sqrt(one.size) < bound


def test_different_addresses_give_different_numbers():
    base = draw(Key(value=1), 2, 2, 2)
    for key in (Key(value=2), Key(value=1, stream=1), Key(value=1, sample=2), Key(value=1, step=2)):
        assert not torch.isin(draw(key, 2, 2, 2), base).any()


def test_coarse_path_ends_where_the_fine_one_ends():
    xi = draw(Key(value=4), 3, 24, 2, dtype=torch.float64)
    for factor in (2, 3, 8):
        coarse = coarsen(xi, factor)
        fine_ends = (xi * math.sqrt(1 / 24)).sum(0)
        assert torch.allclose((coarse * math.sqrt(factor / 24)).sum(0), fine_ends)
    with pytest.raises(ValueError, match="divide 24"):
        coarsen(xi, 5)


def test_keys_come_from_the_given_generator_only():
    before = torch.get_rng_state()
    keys = [fresh_key(torch.Generator().manual_seed(5)) for _ in range(2)]
    assert keys[0] == keys[1]
    assert torch.equal(before, torch.get_rng_state())
    generator = torch.Generator().manual_seed(5)
    assert fresh_key(generator) != fresh_key(generator)


@pytest.mark.parametrize("field", ["value", "stream", "sample", "step"])
def test_key_out_of_range_is_refused(field):
    with pytest.raises(ValueError, match=f"Key.{field}"):
        Key(**{"value": 0, field: -1})
