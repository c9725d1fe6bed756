"""The generator in torch and in NumPy: the same words, and the same laws of them to rounding."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.sde import philox
from noisyrnn.sde.brownian import Key, draw, uniform

word = st.integers(0, (1 << 32) - 1)


@given(counters=st.lists(st.tuples(word, word, word, word), min_size=1, max_size=5), key=st.integers(0, (1 << 64) - 1))
def test_numpy_gives_the_words_of_torch(counters, key):
    columns = np.array(counters, dtype=np.int64).T
    by_numpy = philox.philox(tuple(columns), key)
    by_torch = philox.philox(tuple(torch.from_numpy(columns)), key)
    for ours, theirs in zip(by_numpy, by_torch, strict=True):
        np.testing.assert_array_equal(ours, theirs.numpy())
        assert ours.min() >= 0
        assert ours.max() < 1 << 32


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
