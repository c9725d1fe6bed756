"""The ball |x~ - x| <= r of an attack: its nearest points, its unit directions, and points drawn evenly from it."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.setting import Norm
from noisyrnn.types import Sequence


def projection(x: Sequence, centre: Sequence, radius: float, norm: Norm) -> Sequence:
    """The point of the ball around ``centre`` that is nearest to x (coordinatewise or along the ray).

    >>> projection(torch.full((1, 2, 1), 3.0), torch.zeros(1, 2, 1), 1.0, Norm.L2).flatten()
    tensor([0.7071, 0.7071])
    """
    away = x - centre
    if norm is Norm.LINF:
        return centre + away.clamp(-radius, radius)
    return centre + away * (radius / _length(away)).clamp(max=1)


def direction(slope: Tensor, norm: Norm) -> Tensor:
    """The unit step that gains most along g: sign(g) or g / |g|_2, and 0 where g = 0."""
    if norm is Norm.LINF:
        return slope.sign()
    # Scaled first, so that squares neither overflow nor vanish.
    largest = slope.abs().amax(dim=(1, 2), keepdim=True).clamp(min=torch.finfo(slope.dtype).tiny)
    scaled = slope / largest
    return scaled / _length(scaled)


def even_offsets(x: Tensor, count: int, norm: Norm, generator: torch.Generator) -> Tensor:
    """``count`` uniform points of the unit ball for each sample, (batch, count, time, feature), in double precision."""
    # All numbers of a sample are drawn together, so that the size of a batch does not change them.
    numbers = x[0].numel()
    shape = (len(x), count, 1 + numbers)
    u = torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64).to(x.device)
    if norm is Norm.LINF:
        offsets = 2 * u[..., 1:] - 1
    else:
        normal = torch.special.ndtri(u[..., 1:].clamp(min=2.0**-53))
        offsets = u[..., :1] ** (1 / numbers) * normal / normal.norm(dim=-1, keepdim=True)
    return offsets.reshape(len(x), count, *x.shape[1:])


def _length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1).clamp(min=torch.finfo(x.dtype).tiny)[:, None, None]
