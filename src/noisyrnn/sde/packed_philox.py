r"""Philox-4x32 with ten rounds in NumPy, two words of a counter in one number: what a CPU without the kernel runs.

With p = (c_0, c_1) and q = (c_2, c_3), the upper half first, a round (``sde.philox``) is

    p, q <- M_1 (q >> 32) ^ (p << 32) ^ (k_0 << 32),  M_0 (p >> 32) ^ (q << 32) ^ (k_1 << 32)

Each product brings the new upper and lower word in their places, and a shift to the left drops what is not wanted: five
passes over an array a round, in place. Passes over memory are what it costs, so the first three rounds, in which block
meets stream and sample meets step only, are done on these small arrays before they are spread out.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from noisyrnn.sde.philox import MULTIPLIERS, round_keys

Pairs = NDArray[np.uint64]
"""(2, ...): p and q of each block."""
Four = tuple[NDArray[np.floating], ...]

_UPPER, _LOWER = (1, 0) if sys.byteorder == "little" else (0, 1)
_HALF = np.array(32, np.uint64)
_M0, _M1 = (np.array(multiplier, np.uint64) for multiplier in MULTIPLIERS)


def words(blocks: Pairs, steps: Pairs, samples: Pairs, stream: int, key: int) -> Pairs:
    """p and q after ten rounds, (2, steps, samples, blocks), of the counters (block, step, sample, stream).

    >>> zero = np.zeros(1, np.uint64)
    >>> [f"{int(pair):016x}" for pair in words(zero, zero, zero, stream=0, key=0).ravel()]
    ['6627e8d5e169c58d', 'bc57ac4c9b00dbd8']
    """
    keys = [(np.array(low << 32, np.uint64), np.array(high << 32, np.uint64)) for low, high in round_keys(key)]
    p = (samples * _M1) ^ (steps[:, None] << _HALF) ^ keys[0][0]
    q = (blocks * _M0) ^ np.uint64(stream << 32) ^ keys[0][1]
    one, other = ((p >> _HALF) * _M0)[..., None], (q >> _HALF) * _M1
    shape = (2, len(steps), len(samples), len(blocks))
    made, spare = np.empty(shape, np.uint64), np.empty(shape, np.uint64)
    # The upper halves after the second round; the lower ones, of which the third makes use, stay small.
    np.bitwise_xor(one >> _HALF, ((q << _HALF) ^ keys[1][1]) >> _HALF, out=spare[0])
    np.bitwise_xor((((p << _HALF) ^ keys[1][0]) >> _HALF)[..., None], other >> _HALF, out=spare[1])
    spare[0] *= _M1
    spare[1] *= _M0
    np.bitwise_xor(spare[0], (other << _HALF) ^ keys[2][0], out=made[0])
    np.bitwise_xor(spare[1], (one << _HALF) ^ keys[2][1], out=made[1])
    first, second = made.reshape(2, -1)
    of_second, of_first = spare.reshape(2, -1)
    for low, high in keys[3:]:
        np.right_shift(second, _HALF, out=of_second)
        np.right_shift(first, _HALF, out=of_first)
        of_second *= _M1
        of_first *= _M0
        for pair, product, its_key in ((first, of_second, low), (second, of_first, high)):
            pair <<= _HALF
            pair ^= product
            pair ^= its_key
    return made


def gaussian(pairs: Pairs, wide: str) -> Four:
    """Standard normal numbers by Box and Muller's rule, two of each pair, in the precision ``wide``."""
    halves = pairs.view(np.uint32)
    u = halves[..., _UPPER::2].astype(np.float32)
    u *= np.float32(2.0**-32)
    u += np.float32(2.0**-33)
    v = halves.view(np.int32)[..., _LOWER::2].astype(np.float32)
    v *= np.float32(2.0**-31)
    radius, angle = u.astype(wide, copy=False), v.astype(wide, copy=False)
    np.log(radius, out=radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    angle *= math.pi
    along = np.cos(angle)
    along *= radius
    across = np.sin(angle, out=angle)
    across *= radius
    return along[0], across[0], along[1], across[1]


def uniform(pairs: Pairs, wide: str) -> Four:
    """Numbers in [0, 1) of the upper 24 bits of each word; what ``pairs`` held is gone afterwards."""
    halves = pairs.view(np.uint32)
    halves >>= np.uint32(8)
    upper, lower = (halves[..., half::2].astype(wide) for half in (_UPPER, _LOWER))
    upper *= 2.0**-24
    lower *= 2.0**-24
    return upper[0], lower[0], upper[1], lower[1]
