"""The ball |x~ - x| <= r of an attack: its nearest points, its unit directions, and points drawn evenly from it."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.attack.case import Case
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


def even_offsets(case: Case, count: int, norm: Norm) -> Tensor:
    """``count`` uniform points of each sample's unit ball, (batch, count, time, feature), in double precision."""
    # All numbers of a sample are drawn together, so that the size of a batch does not change them.
    x, valid, numbers = case.x, case.valid, case.x.shape[1] * case.x.shape[2]
    u = case.drawn(count * (1 + numbers)).reshape(len(x), count, 1 + numbers)
    if norm is Norm.LINF:
        offsets = (2 * u[..., 1:] - 1).reshape(len(x), count, *x.shape[1:])
        return offsets if valid is None else offsets * valid[:, None]
    normal = torch.special.ndtri(u[..., 1:].clamp(min=2.0**-53)).reshape(len(x), count, *x.shape[1:])
    if valid is not None:
        normal = normal * valid[:, None]
    dimension = (case.steps * x.shape[2]).double()[:, None, None]
    length = normal.flatten(2).norm(dim=-1)[..., None, None]
    return (u[..., :1] ** (1 / dimension))[..., None] * normal / length


def _length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1).clamp(min=torch.finfo(x.dtype).tiny)[:, None, None]
