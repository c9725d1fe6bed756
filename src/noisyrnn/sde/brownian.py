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
rounding. This file is the definition: on a CPU by NumPy, elsewhere and where torch looks into it in whole numbers of
torch. Contract 1, Philox-4x64-10, was that of version 0.1.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.sde import packed_philox, philox

CONTRACT = 2
"""Which contract this is: checkpoints and rows say by which of them they were made."""

STEPS = 1 << 32
"""Steps that a key has noise for; it has as many samples."""

_GROUP = 16  # units served by four Philox blocks
_WORD = 0xFFFFFFFF
_AT_ONCE = 1 << 16  # blocks made together: on a CPU as many as stay in its cache
_AT_ONCE_BY_THREADS = 1 << 17  # more, because threads of Python wait for each other after every operation
_AT_ONCE_ELSEWHERE = 1 << 22
_BOUNDS = {"value": 64, "stream": 28, "sample": 32, "step": 32}


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
        low, high, *_ = (
            int(word) for word in philox.philox((zero, zero, zero, zero + Channel.SUCCESSOR), self.number())
        )
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
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    host = filled.device.type == "cpu"
    by_numpy = host and not isinstance(key.value, Tensor)
    fill = _fill_by_numpy if by_numpy else _fill_by_torch
    threads = torch.get_num_threads() if by_numpy else 1
    blocks = _AT_ONCE_BY_THREADS if threads > 1 else _AT_ONCE if host else _AT_ONCE_ELSEWHERE
    together = max(1, blocks // max(1, samples * -(-units // 4)))

    def fill_from(first: int) -> None:
        fill(filled[first : first + together], key.later(first), channel, wide)

    pieces = range(0, steps if filled.numel() else 0, together)
    if threads > 1 and len(pieces) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill_from, pieces))
    else:
        for first in pieces:
            fill_from(first)
    return filled


def _fill_by_numpy(part: Tensor, key: Key, channel: Channel, wide: torch.dtype) -> None:
    steps, samples, units = part.shape
    groups = -(-units // _GROUP)
    blocks, times, rows = (np.arange(count, dtype=np.uint64) for count in (4 * groups, steps, samples))
    times, rows = times + np.uint64(key.step), rows + np.uint64(key.sample)
    pairs = packed_philox.words(blocks, times, rows, 16 * key.stream + channel, key.number())
    law = packed_philox.gaussian if channel is Channel.GAUSSIAN else packed_philox.uniform
    pieces = law(pairs, str(wide).removeprefix("torch."))
    # Four blocks lie together, as one element of a type of that size: fewer, larger elements are moved.
    four = np.dtype(f"V{4 * pieces[0].itemsize}")
    straight = part.dtype == wide and units % _GROUP == 0
    whole = part.numpy() if straight else np.empty((steps, samples, _GROUP * groups), pieces[0].dtype)
    fours = whole.view(four).reshape(steps, samples, groups, 4)
    for place, piece in enumerate(pieces):
        fours[..., place] = piece.view(four)
    if not straight:
        part.copy_(torch.from_numpy(whole)[..., :units])


def _fill_by_torch(part: Tensor, key: Key, channel: Channel, wide: torch.dtype) -> None:
    (steps, samples, units), on = part.shape, part.device
    groups = -(-units // _GROUP)
    blocks, rows = torch.arange(4 * groups, device=on), torch.arange(samples, device=on).unsqueeze(-1) + key.sample
    times = torch.arange(steps, device=on).reshape(-1, 1, 1) + key.step
    stream = torch.full((), 16 * key.stream + channel, device=on)
    law = philox.gaussian if channel is Channel.GAUSSIAN else philox.uniform
    pieces = law((blocks, times, rows, stream), key.value, wide)
    whole = torch.stack([piece.unflatten(-1, (groups, 4)) for piece in pieces], dim=-2).flatten(-3)
    part.copy_(whole[..., :units])
