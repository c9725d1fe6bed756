r"""Philox-4x32 with ten rounds, in whole numbers of torch, and the two laws that are made of its words.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011. A round of the counter c and the key k:

    c_0, c_1 <- high(M_1 c_2) ^ c_1 ^ k_0, low(M_1 c_2)      c_2, c_3 <- high(M_0 c_0) ^ c_3 ^ k_1, low(M_0 c_0)

torch runs this on any device, and can look into it; on a CPU NumPy is faster (``sde.packed_philox``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10

Four = tuple[Tensor, Tensor, Tensor, Tensor]


def round_keys(key: int) -> Iterator[tuple[int, int]]:
    """The lower and the upper half of the key in each round.

    >>> [f"{low:08x}" for low, high in round_keys(0)][:3]
    ['00000000', '9e3779b9', '3c6ef372']
    """
    low, high = key & _WORD, key >> 32
    for turn in range(_ROUNDS):
        yield (low + turn * _WEYL[0]) & _WORD, (high + turn * _WEYL[1]) & _WORD


def philox(counter: Four, key: int | Tensor) -> Four:
    """The four words of each block, from counters of 32 bits that broadcast against each other, all in int64.

    >>> zero = torch.zeros((), dtype=torch.int64)
    >>> [f"{int(word):08x}" for word in philox((zero, zero, zero, zero), key=0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = _mixed(counter, key)
    return c0, c1 & _WORD, c2, c3 & _WORD


def gaussian(counter: Four, key: int | Tensor, wide: torch.dtype) -> Four:
    """Standard normal numbers by Box and Muller's rule, two of each pair of words, in the precision ``wide``."""
    w0, w1, w2, w3 = _mixed(counter, key)
    (first, second), (third, fourth) = _pair(w0, w1, wide), _pair(w2, w3, wide)
    return first, second, third, fourth


def uniform(counter: Four, key: int | Tensor, wide: torch.dtype) -> Four:
    """Numbers in [0, 1) of the upper 24 bits of each word."""
    w0, w1, w2, w3 = _mixed(counter, key)
    return _fraction(w0, wide), _fraction(w1, wide), _fraction(w2, wide), _fraction(w3, wide)


def _mixed(counter: Four, key: int | Tensor) -> Four:
    """The words after all rounds; what stands above the lower 32 bits of the second and the fourth has no meaning."""
    c0, c1, c2, c3 = counter
    keys = _keys_in_words(key) if isinstance(key, Tensor) else round_keys(key)
    for low, high in keys:
        one, other = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        # The upper halves of c1 and c3 are left as they come: they are masked away where these two are used.
        c0, c1 = _crossed(other, c1, low), other
        c2, c3 = _crossed(one, c3, high), one
    return c0, c1, c2, c3


def _keys_in_words(key: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    for turn in range(_ROUNDS):
        yield (key[..., 0] + turn * _WEYL[0]) & _WORD, (key[..., 1] + turn * _WEYL[1]) & _WORD


def _crossed(product: Tensor, word: Tensor, key: int | Tensor) -> Tensor:
    """(product >> 32) ^ word ^ key, cut to 32 bits; in place as far as shapes allow: memory is what it costs."""
    upper = product >> 32
    if isinstance(key, Tensor):
        return (upper ^ word ^ key) & _WORD
    if upper.shape == word.shape:
        upper ^= word
    else:
        upper = upper ^ word
    upper ^= key
    upper &= _WORD
    return upper


def _pair(first: Tensor, second: Tensor, wide: torch.dtype) -> tuple[Tensor, Tensor]:
    """sqrt(-2 log u) times cos(pi v) and sin(pi v), u in (0, 1] of one word and v in [-1, 1] of the other."""
    u, v = first.to(torch.float32), second.to(torch.int32).to(torch.float32)
    u *= 2.0**-32
    u += 2.0**-33
    v *= 2.0**-31
    radius, angle = u.to(wide).log(), v.to(wide)
    radius *= -2
    radius, angle = radius.sqrt(), angle * math.pi
    along, across = angle.cos(), angle.sin()
    along *= radius
    across *= radius
    return along, across


def _fraction(word: Tensor, wide: torch.dtype) -> Tensor:
    found = ((word >> 8) & 0xFFFFFF).to(wide)
    found *= 2.0**-24
    return found
