r"""The only source of hidden noise: counter-based, so that a number depends on *where* it is used and on nothing else.

The number for (key, stream, channel, sample, step, unit) comes from the Philox-4x32 generator with ten rounds
(Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), with

    Philox key      (low, high) half of the 64-bit key
    Philox counter  (block, step, sample, 16 stream + channel),  stream = 2 layer + direction

all of them 32-bit numbers. Layers of a network are counted from the input; direction is 1 for a layer that reads its
sequence backwards, else 0; a step is one of a scheme, so there are several for each input if a cell has substeps. A
block has four words w_0 .. w_3. Units are served in groups of sixteen: group q takes the blocks 4 q + i, i = 0 .. 3,

    Gaussian, channel 0:   u = float32(w) 2^-32 + 2^-33 in (0, 1],   v = float32(signed w') 2^-31 in [-1, 1]
                           (w, w') = (w_0, w_1)   unit 16 q + i     = sqrt(-2 log u) cos(pi v)
                                                  unit 16 q + 4 + i = sqrt(-2 log u) sin(pi v)    (Box and Muller)
                           (w, w') = (w_2, w_3)   units 16 q + 8 + i and 16 q + 12 + i in the same way
    uniform, channel 1:    unit 16 q + 4 k + i = (w_k >> 8) 2^-24
    dropout, channel 2:    as channel 1

u and v are rounded to single precision *by definition*; the functions of them are evaluated in the precision asked for,
so that single and double precision see the same path. Hence |xi| <= sqrt(66 log 2) < 6.77: what lies beyond has the
probability 1.4e-11. In this order of the counter the first two rounds mix block with stream and sample with step only.

The native kernel, compiled C++ that runs whole sequences, follows the same contract and gives the same numbers to
rounding. This file is the definition, in whole numbers of torch on any device. Contract 1, Philox-4x64-10, was that of
version 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import torch
from jaxtyping import Float, Int
from torch import Tensor

CONTRACT = 2
"""Which contract this is: checkpoints and rows say by which of them they were made."""

STEPS = 1 << 32
"""Steps that a key has noise for; it has as many samples."""

_GROUP = 16  # units served by four Philox blocks
_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_AT_ONCE = {"cpu": 1 << 15}  # blocks made together: on a CPU as many as stay in its cache
_AT_ONCE_ELSEWHERE = 1 << 22
_BOUNDS = {"value": 64, "stream": 28, "sample": 32, "step": 32}

Words = Int[Tensor, "*#places"]


class Channel(IntEnum):
    """What numbers are for; the channel is part of the counter, so that no two purposes share words."""

    GAUSSIAN = 0
    UNIFORM = 1
    DROPOUT = 2
    SUCCESSOR = 3


@dataclass(frozen=True, kw_only=True)
class Key:
    """Address of a noise path: a 64-bit key, a stream, and the first sample and step it is used for.

    A batch that is split, on one machine or many, passes ``sample`` so that each part finds its own numbers; a sequence
    that is fed in pieces passes ``step``. A key has 2^32 samples and 2^32 steps.

    Where code is compiled, exported or transformed, ``value`` is a tensor of two 32-bit words in int64, the lower half
    first, so that it is an input of the program and no constant in it.

    >>> Key(value=7).at(layer=1, direction=1).stream
    3
    >>> bool((draw(Key(value=torch.tensor([7, 0])), 2, 2, 2) == draw(Key(value=7), 2, 2, 2)).all())
    True
    """

    value: int | Tensor
    stream: int = 0
    sample: int = 0
    step: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.value, Tensor) and (self.value.dtype != torch.int64 or self.value.shape[-1:] != (2,)):
            raise ValueError(
                "Key.value must be a whole number, or an int64 tensor of its two 32-bit words, "
                f"got {self.value.dtype} {tuple(self.value.shape)}."
            )
        for name, width in _BOUNDS.items():
            number = getattr(self, name)
            if name == "value" and isinstance(number, Tensor):
                continue
            if not 0 <= number < 1 << width:
                raise ValueError(f"Key.{name} must be a whole number from 0 to 2**{width} - 1, got {number}.")

    def at(self, *, layer: int, direction: int = 0) -> Key:
        """Same key and offsets, in the stream of one layer and direction."""
        return Key(value=self.value, stream=2 * layer + direction, sample=self.sample, step=self.step)

    def later(self, steps: int) -> Key:
        """Same path, ``steps`` steps further on."""
        return replace(self, step=self.step + steps)

    def successor(self) -> Key:
        """The key for what comes after the last step of this one: its own function of the value, at step 0.

        >>> Key(value=7, sample=3, step=2**32 - 1).successor() == Key(value=7, sample=3).successor()
        True
        """
        zero = torch.zeros((), dtype=torch.int64)
        low, high, *_ = (int(word) for word in philox((zero, zero, zero, zero + Channel.SUCCESSOR), self.number()))
        return replace(self, value=low | high << 32, step=0)

    def number(self) -> int:
        """The value as a whole number, also where it is given by its words."""
        if not isinstance(self.value, Tensor):
            return self.value
        low, high = self.value.tolist()
        return int(low | high << 32)

    def words(self) -> Tensor:
        """The value as a tensor of its two 32-bit words."""
        return self.value if isinstance(self.value, Tensor) else torch.tensor([self.value & _WORD, self.value >> 32])


def fresh_key(generator: torch.Generator | None = None, *, as_words: bool = False) -> Key:
    """A new 64-bit key from ``generator`` (torch's global one by default): one call, one key.

    >>> fresh_key(torch.Generator().manual_seed(0)) == fresh_key(torch.Generator().manual_seed(0))
    True
    """
    device = "cpu" if generator is None else generator.device
    words = torch.randint(0, 1 << 32, (2,), dtype=torch.int64, generator=generator, device=device)
    return Key(value=words if as_words else Key(value=words).number())


def philox(counter: tuple[Words, Words, Words, Words], key: int | Tensor) -> tuple[Words, Words, Words, Words]:
    """The four words of each block, from counters of 32 bits that broadcast against each other, all in int64.

    >>> zero = torch.zeros((), dtype=torch.int64)
    >>> [f"{int(word):08x}" for word in philox((zero, zero, zero, zero), key=0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    low, high = (key[..., 0], key[..., 1]) if isinstance(key, Tensor) else (key & _WORD, key >> 32)
    for _ in range(_ROUNDS):
        # The upper halves of c1 and c3 are left as they come: they are masked away where these two are used.
        one, other = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1 = _mixed(other, c1, low), other
        c2, c3 = _mixed(one, c3, high), one
        low, high = (low + _WEYL[0]) & _WORD, (high + _WEYL[1]) & _WORD
    return c0, c1 & _WORD, c2, c3 & _WORD


def _mixed(product: Words, word: Words, key: int | Tensor) -> Words:
    """(product >> 32) ^ word ^ key, cut to 32 bits; in place as far as shapes allow: memory is what it costs."""
    upper = product >> 32
    if isinstance(key, Tensor):
        return (upper ^ word ^ key) & _WORD
    whole = upper.bitwise_xor_(word) if upper.shape == word.shape else upper ^ word
    return whole.bitwise_xor_(key).bitwise_and_(_WORD)


def draw(
    key: Key,
    samples: int,
    steps: int,
    units: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Float[Tensor, "steps samples units"]:
    """xi ~ N(0, 1), independent: the standardised Brownian increments of a batch, time first.

    >>> xi = draw(Key(value=1), samples=4, steps=3, units=2)
    >>> tail = draw(Key(value=1, sample=2), samples=2, steps=3, units=2)
    >>> bool((xi[:, 2:] == tail).all())
    True
    """
    return _filled(key, (steps, samples, units), dtype, device, Channel.GAUSSIAN)


def uniform(
    key: Key,
    samples: int,
    steps: int,
    units: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
    channel: Channel = Channel.UNIFORM,
) -> Float[Tensor, "steps samples units"]:
    """Uniform numbers in [0, 1), independent of each other, of other channels and of :func:`draw` under the same key.

    >>> bool((uniform(Key(value=1), 4, 3, 2) < 1).all())
    True
    """
    return _filled(key, (steps, samples, units), dtype, device, channel)


def check_extent(key: Key, samples: int, steps: int, units: int) -> None:
    """Refuse what has no numbers: negative sizes, and more samples or steps than a key has.

    >>> check_extent(Key(value=1, step=2**32 - 1), samples=1, steps=2, units=1)
    Traceback (most recent call last):
    ValueError: A key has noise for 2**32 steps; from step 4294967295 on 2 more do not fit: take a fresh key.
    """
    if min(samples, steps, units) < 0:
        raise ValueError(f"Noise needs sizes of at least 0, got samples={samples}, steps={steps}, units={units}.")
    for name, first, count in (("sample", key.sample, samples), ("step", key.step, steps)):
        if first + count > STEPS:
            raise ValueError(
                f"A key has noise for 2**32 {name}s; from {name} {first} on {count} more do not fit: take a fresh key."
            )


def coarsen(xi: Float[Tensor, "steps ..."], factor: int) -> Float[Tensor, "coarse ..."]:
    """The same Brownian path at a step ``factor`` times as long: sums of increments, standardised again.

    >>> coarsen(torch.ones(4, 1, 1), 2).flatten().tolist()
    [1.41421..., 1.41421...]
    """
    if factor < 1 or xi.shape[0] % factor:
        raise ValueError(
            f"coarsen joins whole groups of steps: factor must be at least 1 and divide {xi.shape[0]}, got {factor}."
        )
    return xi.unflatten(0, (-1, factor)).sum(1) / factor**0.5


def _filled(
    key: Key, shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device | str | None, channel: Channel
) -> Tensor:
    steps, samples, units = shape
    check_extent(key, samples, steps, units)
    filled = torch.empty(shape, dtype=dtype, device=device)
    place, wide = filled.device, torch.float64 if dtype == torch.float64 else torch.float32
    groups = -(-units // _GROUP)
    blocks = torch.arange(4 * groups, device=place)
    rows = (torch.arange(samples, device=place) + key.sample).unsqueeze(-1)
    stream = torch.full((), 16 * key.stream + channel, device=place)
    together = max(1, _AT_ONCE.get(place.type, _AT_ONCE_ELSEWHERE) // max(1, 4 * groups * samples))
    for first in range(0, steps, together):
        times = torch.arange(first, min(first + together, steps), device=place) + key.step
        words = torch.stack(philox((blocks, times.reshape(-1, 1, 1), rows, stream), key.value), dim=-2)
        # (steps, samples, 4 words, groups x 4 blocks), of which a unit's place is (group, word, block).
        law = _gaussian if channel is Channel.GAUSSIAN else _uniform
        numbers = law(words, wide).unflatten(-1, (groups, 4)).transpose(-3, -2).flatten(-3)
        filled[first : first + together] = numbers[..., :units]
    return filled


def _gaussian(words: Tensor, wide: torch.dtype) -> Tensor:
    u = words[..., 0::2, :].float() * 2.0**-32 + 2.0**-33
    v = ((words[..., 1::2, :] ^ 1 << 31) - (1 << 31)).float() * 2.0**-31
    radius, angle = (-2 * u.to(wide).log()).sqrt(), torch.pi * v.to(wide)
    return torch.stack((radius * angle.cos(), radius * angle.sin()), dim=-2).flatten(-3, -2)


def _uniform(words: Tensor, wide: torch.dtype) -> Tensor:
    return (words >> 8).to(wide) * 2.0**-24
