r"""Philox-4x32 with ten rounds, in whole numbers of torch or of NumPy, and the two laws that are made of its words.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011. A round of the counter c and the key k:

    c_0, c_1 <- high(M_1 c_2) ^ c_1 ^ k_0, low(M_1 c_2)      c_2, c_3 <- high(M_0 c_0) ^ c_3 ^ k_1, low(M_0 c_0)

What is made is the same for both kinds of array. NumPy runs it in half the time on a CPU; torch runs it on any device,
and can look into it.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10

Array = TypeVar("Array", Tensor, NDArray[Any])
"""Tensors, or arrays of NumPy."""
Four = tuple[Array, Array, Array, Array]


def philox(counter: Four[Array], key: int | Tensor) -> Four[Array]:
    """The four words of each block, from counters of 32 bits that broadcast against each other, all in int64.

    >>> zero = torch.zeros((), dtype=torch.int64)
    >>> [f"{int(word):08x}" for word in philox((zero, zero, zero, zero), key=0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = _mixed(counter, key)
    return c0, c1 & _WORD, c2, c3 & _WORD


def gaussian(counter: Four[Array], key: int | Tensor, wide: str) -> Four[Array]:
    """Standard normal numbers by Box and Muller's rule, two of each pair of words, in the precision ``wide``."""
    w0, w1, w2, w3 = _mixed(counter, key)
    (first, second), (third, fourth) = _pair(w0, w1, wide), _pair(w2, w3, wide)
    return first, second, third, fourth


def uniform(counter: Four[Array], key: int | Tensor, wide: str) -> Four[Array]:
    """Numbers in [0, 1) of the upper 24 bits of each word."""
    w0, w1, w2, w3 = _mixed(counter, key)
    return _fraction(w0, wide), _fraction(w1, wide), _fraction(w2, wide), _fraction(w3, wide)


def _mixed(counter: Four[Array], key: int | Tensor) -> Four[Array]:
    """The words after all rounds; what stands above the lower 32 bits of the second and the fourth has no meaning."""
    c0, c1, c2, c3 = counter
    low, high = (key[..., 0], key[..., 1]) if isinstance(key, Tensor) else (key & _WORD, key >> 32)
    for _ in range(_ROUNDS):
        one, other = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        # The upper halves of c1 and c3 are left as they come: they are masked away where these two are used.
        c0, c1 = _crossed(other, c1, low), other
        c2, c3 = _crossed(one, c3, high), one
        low, high = (low + _WEYL[0]) & _WORD, (high + _WEYL[1]) & _WORD
    return c0, c1, c2, c3


def _crossed(product: Array, word: Array, key: int | Tensor) -> Array:
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


def _pair(first: Array, second: Array, wide: str) -> tuple[Array, Array]:
    """sqrt(-2 log u) times cos(pi v) and sin(pi v), u in (0, 1] of one word and v in [-1, 1] of the other."""
    u, v = _cast(first, "float32"), _cast(_cast(second, "int32"), "float32")
    u *= 2.0**-32
    u += 2.0**-33
    v *= 2.0**-31
    of: Any = torch if isinstance(u, Tensor) else np
    radius, angle = of.log(_cast(u, wide)), _cast(v, wide)
    radius *= -2
    radius, angle = of.sqrt(radius), angle * math.pi
    along, across = of.cos(angle), of.sin(angle)
    along *= radius
    across *= radius
    return along, across


def _fraction(word: Array, wide: str) -> Array:
    found = _cast((word >> 8) & 0xFFFFFF, wide)
    found *= 2.0**-24
    return found


def _cast(array: Array, kind: str) -> Array:
    """In another type of number; whole numbers keep their lower bits."""
    return array.to(getattr(torch, kind)) if isinstance(array, Tensor) else array.astype(kind, copy=False)
