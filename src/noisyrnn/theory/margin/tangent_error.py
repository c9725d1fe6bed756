r"""How far an activation strays from its tangent: kappa(z, rho) = sup_{|t| <= rho} |a(z + t) - a(z) - a'(z) t|.

For tanh this is exact. With g(t) = tanh(|z| + t) - tanh|z| - sech^2(z) t, the derivative vanishes at t = 0 and
t = -2|z| only, so the supremum is the largest |g| at rho, at -rho and, if 2|z| <= rho, at -2|z|. The logistic function
is a tanh in other units. For ReLU and leaky ReLU the tangent is left at the kink. Any other activation is bounded by
max|a''| rho^2 / 2 and by rho times the largest deviation of its slope.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from noisyrnn.sde import Activation

_ROUNDOFF = 16 * torch.finfo(torch.float64).eps


def tangent_error(activation: Activation, z: Tensor, rho: Tensor) -> Tensor:
    """kappa(z, rho) in double precision, rounded upwards; z and rho broadcast.

    >>> from noisyrnn.sde import TANH
    >>> tangent_error(TANH, torch.zeros(1).double(), torch.ones(1).double()).item()  # 1 - tanh 1
    0.238405844...
    """
    deviation = torch.maximum(activation.slope_max - activation.slope(z), activation.slope(z) - activation.slope_min)
    if activation.slope_min < activation.slope_max:
        deviation = deviation + _ROUNDOFF
    error = rho * deviation
    if activation.curvature_max is not None:
        error = torch.minimum(error, 0.5 * activation.curvature_max * rho.square())
    if activation.value is torch.tanh:
        error = torch.minimum(error, _tanh(z, rho))
    elif activation.value is torch.sigmoid:
        error = torch.minimum(error, 0.5 * _tanh(0.5 * z, 0.5 * rho))
    elif activation.value in (torch.relu, functional.leaky_relu):
        jump = activation.slope_max - activation.slope_min
        error = torch.minimum(error, jump * (rho - z.abs()).clamp(min=0))
    return error * (1 + _ROUNDOFF)


def _tanh(z: Tensor, rho: Tensor) -> Tensor:
    size = z.abs()
    level = torch.tanh(size)
    slope = 1 - level.square()

    def stray(t: Tensor) -> Tensor:
        return (torch.tanh(size + t) - level - slope * t).abs()

    error = torch.maximum(stray(rho), stray(-rho))
    turn = torch.where(2 * size <= rho, stray(-2 * size), torch.zeros_like(error))
    # Differences of numbers near 1 lose absolute digits; what they may have lost is added back.
    return torch.maximum(error, turn) + _ROUNDOFF * (1 + rho)
