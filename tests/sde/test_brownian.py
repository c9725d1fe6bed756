"""Noise contract: published generator, pure function of its address, right law."""

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from randomgen import Philox
from scipy import stats

from noisyrnn.sde.brownian import CONTRACT, Channel, Key, coarsen, draw, fresh_key, uniform
from noisyrnn.sde.philox import philox

WORD, MASK = (1 << 32) - 1, (1 << 64) - 1


def plain(counter: list[int], key: list[int]) -> list[int]:
    """Philox-4x32-10 from the paper of Salmon et al., in whole numbers."""
    for _ in range(10):
        low, high = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(high >> 32) ^ counter[1] ^ key[0], high & WORD, (low >> 32) ^ counter[3] ^ key[1], low & WORD]
        key = [(key[0] + 0x9E3779B9) & WORD, (key[1] + 0xBB67AE85) & WORD]
    return counter


def ours(counter: list[int], key: int) -> list[int]:
    c0, c1, c2, c3 = (torch.tensor(number) for number in counter)
    return [int(word) for word in philox((c0, c1, c2, c3), key)]


# Known-answer vectors distributed with the generator (Random123, philox4x32 with 10 rounds).
KNOWN = [
    ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([WORD] * 4, MASK, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        0x299F31D0_A4093822,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_published_generator_gives_its_known_answers(counter, key, words):
    assert ours(counter, key) == words
    assert plain(counter, [key & WORD, key >> 32]) == words


@given(counter=st.lists(st.integers(0, WORD), min_size=4, max_size=4), key=st.integers(0, MASK))
def test_words_are_those_of_another_implementation(counter, key):
    before = (sum(word << 32 * place for place, word in enumerate(counter)) - 1) % (1 << 128)
    # That generator adds one to its counter before each block.
    other = Philox(key=key, counter=before, number=4, width=32).random_raw(4)
    assert ours(counter, key) == other.tolist() == plain(counter, [key & WORD, key >> 32])


def test_first_numbers_are_pinned():
    key = Key(value=0x0123456789ABCDEF, stream=5, sample=6, step=7)
    even = uniform(key, samples=10, steps=10, units=100)
    other = uniform(key, samples=10, steps=10, units=100, channel=Channel.DROPOUT)
    xi = draw(key, samples=10, steps=10, units=100, dtype=torch.float64)
    # Functions of the processor's library differ in the last bits; six digits do not show them.
    whole = (xi * 1e6).round().to(torch.int64)
    found = [hashlib.sha256(part.numpy().tobytes()).hexdigest()[:16] for part in (even, other, whole)]
    assert (CONTRACT, found) == (2, ["8163487a6dcf9c64", "00ff7beef29165b0", "0aa7f5b6f1e74433"])


@pytest.mark.parametrize(("sample", "step", "unit"), [(0, 0, 0), (3, 2, 7), (1, 4, 8), (5, 1, 37), (2, 3, 15)])
def test_number_is_the_stated_function_of_its_address(sample, step, unit):
    key = Key(value=0xDEADBEEFCAFEF00D, stream=5, sample=9, step=11)
    group, place = divmod(unit, 16)
    word, turn = place // 4, place % 4

    def words(channel):
        counter = [4 * group + turn, 11 + step, 9 + sample, 16 * 5 + channel]
        return plain(counter, [key.value & WORD, key.value >> 32])

    first, second = words(0)[word // 2 * 2 : word // 2 * 2 + 2]
    u = float(np.float32(np.uint32(first)) * np.float32(2.0**-32) + np.float32(2.0**-33))
    v = float(np.float32(np.uint32(second).view(np.int32)) * np.float32(2.0**-31))
    wave = math.sin if word % 2 else math.cos
    expected = math.sqrt(-2 * math.log(u)) * wave(math.pi * v)
    found = draw(key, samples=6, steps=5, units=40, dtype=torch.float64)[step, sample, unit]
    assert float(found) == pytest.approx(expected, abs=1e-13)
    for channel in (Channel.UNIFORM, Channel.DROPOUT):
        even = uniform(key, 6, 5, 40, channel=channel)[step, sample, unit]
        assert float(even) == (words(channel)[word] >> 8) * 2.0**-24


@given(
    samples=st.integers(1, 9), steps=st.integers(1, 7), units=st.integers(1, 50), cut=st.integers(0, 9),
    late=st.integers(0, 7), value=st.integers(0, MASK), stream=st.integers(0, 2**28 - 1),
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
    uniforms = uniform(Key(value=20), 50, 100, 40, dtype=torch.float64).numpy()
    assert stats.kstest(uniforms.ravel(), "uniform").pvalue > 1e-6
    # Independence of neighbours along each axis, and of the two channels: sample correlations are N(0, 1/n).
    bound = stats.norm.isf(0.5e-6 / 4)
    for one, other in [
        (xi[1:], xi[:-1]), (xi[:, 1:], xi[:, :-1]), (xi[..., 1:], xi[..., :-1]), (xi, uniforms - 0.5),
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


@pytest.mark.parametrize(("field", "width"), [("value", 64), ("stream", 28), ("sample", 32), ("step", 32)])
def test_key_out_of_range_is_refused(field, width):
    for number in (-1, 1 << width):
        with pytest.raises(ValueError, match=f"Key.{field}"):
            Key(**{"value": 0, field: number})
    Key(**{"value": 0, field: (1 << width) - 1})


@pytest.mark.parametrize("field", ["sample", "step"])
def test_a_key_ends_after_its_last_sample_and_step(field):
    key = Key(**{"value": 1, field: 2**32 - 2})
    for law in (draw, uniform):
        assert law(key, 2, 2, 3).unique().numel() == 12
        with pytest.raises(ValueError, match=rf"2\*\*32 {field}s.*fresh key"):
            law(key, 3, 3, 1)


def test_a_successor_is_another_key_at_the_same_place():
    key = Key(value=1, stream=3, sample=4, step=5)
    after = key.successor()
    assert (after.stream, after.sample, after.step) == (3, 4, 0)
    assert len({key.value, after.value, after.successor().value, Key(value=2).successor().value}) == 4


def test_nothing_is_drawn_elsewhere_than_asked():
    # Tensors without data: a number that came from or went to the host would raise.
    for law in (draw, uniform):
        assert law(Key(value=1), 3, 400, 40, device="meta").shape == (400, 3, 40)
