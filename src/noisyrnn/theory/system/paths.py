"""What a path is made of: the system in double precision, the drive u of each instant, the noise of each instant."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor

from noisyrnn.sde import SDE, Key, Scheme, TanhDrift, draw, uniform

_CHUNK = 256  # steps whose noise is drawn at once: long paths stay flat in memory


def double(sde: SDE) -> SDE:
    """A copy of the built system in double precision, detached from what it was built from.

    >>> drift = TanhDrift(A=None, W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
    >>> double(SDE(drift)).drift.W.dtype
    torch.float64
    """
    with torch.no_grad():
        return copy.deepcopy(sde.built()).double()


def drives(sde: SDE, x: Tensor | None, samples: int | None) -> Tensor:
    """u = encode(x), (samples, time, drive): zero input of one instant where x is None.

    >>> drift = TanhDrift(A=None, W=torch.eye(2), U=torch.ones(2, 1), b=torch.ones(2))
    >>> drives(SDE(drift).double(), None, 3).shape
    torch.Size([3, 1, 2])
    """
    if x is None:
        inputs = sde.drift.inputs if isinstance(sde.drift, TanhDrift) else 1
        x = torch.zeros(1, 1, inputs, dtype=torch.float64)
    if samples is not None and x.shape[0] not in (1, samples):
        raise ValueError(f"x holds {x.shape[0]} sequences, so samples must be that many or left out, got {samples}.")
    u = sde.drift.encode(x.detach().double())
    return u.expand(samples or x.shape[0], *u.shape[1:])


def noises(
    sde: SDE, scheme: Scheme, key: Key, *, samples: int, steps: int
) -> Iterator[tuple[Tensor | None, Tensor | None]]:
    """(xi, uniforms) of each step, (samples, noises) and (samples, units); None for what the system does not need.

    >>> from noisyrnn.sde import euler_maruyama
    >>> drift = TanhDrift(A=None, W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
    >>> list(noises(SDE(drift), euler_maruyama, Key(value=0), samples=1, steps=2))
    [(None, None), (None, None)]
    """
    for start in range(0, steps, _CHUNK):
        chunk, later = min(_CHUNK, steps - start), key.later(start)
        xi = draw(later, samples, chunk, sde.noises, dtype=torch.float64) if sde.noises else None
        uniforms = uniform(later, samples, chunk, sde.units, dtype=torch.float64) if scheme.takes_uniforms else None
        for m in range(chunk):
            yield (None if xi is None else xi[m]), (None if uniforms is None else uniforms[m])
