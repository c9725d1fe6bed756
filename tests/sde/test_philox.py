"""The generator in torch and in NumPy: the same words, and the same laws of them to rounding."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.sde import packed_philox, philox
from noisyrnn.sde.brownian import Key, draw, uniform

word = st.integers(0, (1 << 32) - 1)


@given(counter=st.tuples(word, word, word, word), key=st.integers(0, (1 << 64) - 1))
def test_numpy_gives_the_words_of_torch(counter, key):
    block, step, sample, stream = counter
    first, second = packed_philox.words(*(np.array([c], np.uint64) for c in (block, step, sample)), stream, key).ravel()
    by_torch = philox.philox(tuple(torch.tensor(c) for c in counter), key)
    assert [*divmod(int(first), 1 << 32), *divmod(int(second), 1 << 32)] == [int(found) for found in by_torch]


def test_words_of_many_counters_stand_where_their_counters_say():
    sizes = (4, 3, 2)
    blocks, steps, samples = (np.arange(7, 7 + size, dtype=np.uint64) for size in sizes)
    found = packed_philox.words(blocks, steps, samples, stream=5, key=9)
    for place in np.ndindex(3, 2, 4):
        step, sample, block = place
        alone = packed_philox.words(blocks[[block]], steps[[step]], samples[[sample]], stream=5, key=9)
        np.testing.assert_array_equal(found[:, step, sample, block], alone.ravel())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("steps", "samples", "units"), [(3, 5, 16), (2, 1, 1), (7, 3, 130), (40, 64, 33)])
def test_a_key_in_words_draws_the_same_numbers(dtype, steps, samples, units):
    # A key that is a tensor goes through torch, one that is a number through NumPy.
    key = Key(value=0x0123456789ABCDEF, stream=3, sample=7, step=11)
    words = Key(value=key.words(), stream=3, sample=7, step=11)
    tolerance = {"rtol": 0, "atol": 2e-6 if dtype == torch.float32 else 1e-14}
    sizes = {"samples": samples, "steps": steps, "units": units, "dtype": dtype}
    torch.testing.assert_close(draw(key, **sizes), draw(words, **sizes), **tolerance)
    assert torch.equal(uniform(key, **sizes), uniform(words, **sizes))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_numbers_do_not_depend_on_how_many_threads_make_them(threads):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        many = draw(Key(value=5), samples=128, steps=64, units=128)
    finally:
        torch.set_num_threads(before)
    pieces = [draw(Key(value=5, step=step), samples=128, steps=1, units=128) for step in range(64)]
    assert torch.equal(many, torch.cat(pieces))
