r"""The only source of hidden noise: counter-based, so that a number depends on *where* it is used and on nothing else.

The number for (key, stream, channel, sample, step, unit) comes from the Philox-4x64 generator with ten rounds
(Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), with

    Philox key      (key, stream),  stream = 2 layer + direction
    Philox counter  (1 + block, sample, channel, 0)

Units are served in groups of sixteen: a group takes two consecutive blocks, eight 64-bit words w_0 .. w_7. Blocks are
numbered through the groups of a step and then through the steps. With lo and hi the halves of a word, 32-bit integers,

    Gaussian, channel 0:   u = float32(lo) 2^-32 + 2^-33 in (0, 1],   v = float32(signed hi) 2^-31 in [-1, 1]
                           unit 16 g + j     = sqrt(-2 log u_j) cos(pi v_j)
                           unit 16 g + 8 + j = sqrt(-2 log u_j) sin(pi v_j)                       (Box and Muller)
    uniform, channel 1:    unit 16 g + j = (lo_j >> 8) 2^-24,   unit 16 g + 8 + j = (hi_j >> 8) 2^-24

u and v are rounded to single precision *by definition*; the functions of them are evaluated in the precision asked for,
so that single and double precision see the same path. A native kernel follows the same contract and gives the same
numbers to rounding. This file is the definition: NumPy's own Philox, one stream a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

_GROUP = 16  # units served by two Philox blocks
_WORDS = 8  # 64-bit words in those blocks
_MASK = (1 << 64) - 1


class Channel(IntEnum):
    """Which law a stream of numbers follows; the channel is part of the counter, so laws never share words."""

    GAUSSIAN = 0
    UNIFORM = 1


@dataclass(frozen=True, kw_only=True)
class Key:
    """Address of a noise path: a 64-bit key, a stream, and the first sample and step it is used for.

    A batch that is split, on one machine or many, passes ``sample`` so that each part finds its own numbers; a stream
    that is fed in pieces passes ``step``.

    >>> Key(value=7).at(layer=1, direction=1).stream
    3
    """

    value: int
    stream: int = 0
    sample: int = 0
    step: int = 0

    def __post_init__(self) -> None:
        for name in ("value", "stream", "sample", "step"):
            number = getattr(self, name)
            if not 0 <= number <= _MASK:
                raise ValueError(f"Key.{name} must be a whole number from 0 to 2**64 - 1, got {number}.")

    def at(self, *, layer: int, direction: int = 0) -> Key:
        """Same key and offsets, in the stream of one layer and direction."""
        return replace(self, stream=2 * layer + direction)

    def later(self, steps: int) -> Key:
        """Same path, ``steps`` steps further on."""
        return replace(self, step=self.step + steps)


def fresh_key(generator: torch.Generator | None = None) -> Key:
    """A new 64-bit key from ``generator`` (torch's global one by default): one call, one key.

    >>> fresh_key(torch.Generator().manual_seed(0)) == fresh_key(torch.Generator().manual_seed(0))
    True
    """
    device = "cpu" if generator is None else generator.device
    low, high = torch.randint(0, 1 << 32, (2,), dtype=torch.int64, generator=generator, device=device).tolist()
    return Key(value=low | high << 32)


def draw(
    key: Key, samples: int, steps: int, units: int, *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "steps samples units"]:
    """xi ~ N(0, 1), independent: the standardised Brownian increments of a batch, time first.

    >>> xi = draw(Key(value=1), samples=4, steps=3, units=2)
    >>> tail = draw(Key(value=1, sample=2), samples=2, steps=3, units=2)
    >>> bool((xi[:, 2:] == tail).all())
    True
    """
    return _filled(key, samples, steps, units, dtype, Channel.GAUSSIAN)


def uniform(
    key: Key, samples: int, steps: int, units: int, *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "steps samples units"]:
    """Uniform numbers in [0, 1), independent of each other and of :func:`draw` under the same key.

    >>> bool((uniform(Key(value=1), 4, 3, 2) < 1).all())
    True
    """
    return _filled(key, samples, steps, units, dtype, Channel.UNIFORM)


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


def _filled(key: Key, samples: int, steps: int, units: int, dtype: torch.dtype, channel: Channel) -> Tensor:
    if min(samples, steps, units) < 0:
        raise ValueError(f"Noise needs sizes of at least 0, got samples={samples}, steps={steps}, units={units}.")
    wide = np.float64 if dtype == torch.float64 else np.float32
    law = _gaussian if channel is Channel.GAUSSIAN else _uniform
    groups = -(-units // _GROUP)
    first_block = 2 * groups * key.step
    filled = np.empty((steps, samples, units), dtype=wide)
    for row in range(samples):
        # One sample at a time: the arrays stay in cache, and a number cannot depend on its neighbours in the batch.
        # NumPy adds one to the counter before each block, hence the 1 + block of the contract.
        counter = np.array([first_block, key.sample + row, channel, 0], dtype=np.uint64)
        philox = np.random.Philox(key=key.value | key.stream << 64, counter=counter)
        words = philox.random_raw(steps * groups * _WORDS).astype("<u8", copy=False)
        halves = words.view("<u4").reshape(steps * groups, _WORDS, 2)
        filled[:, row] = law(halves, wide).reshape(steps, groups * _GROUP)[:, :units]
    return torch.from_numpy(filled).to(dtype)


def _gaussian(halves: NDArray[np.uint32], wide: type[np.floating]) -> NDArray[np.floating]:
    u = halves[..., 0].astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
    v = halves[..., 1].view(np.int32).astype(np.float32) * np.float32(2.0**-31)
    radius = np.sqrt(-2 * np.log(u.astype(wide, copy=False)))
    angle = wide(np.pi) * v.astype(wide, copy=False)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


def _uniform(halves: NDArray[np.uint32], wide: type[np.floating]) -> NDArray[np.floating]:
    return np.moveaxis((halves >> 8).astype(wide) * wide(2.0**-24), -1, 1)
