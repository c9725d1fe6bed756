r"""Activations a: R -> R that state what the theory needs of them: slopes, Lipschitz constant, second derivative.

An activation is admissible when its slope stays in a known interval [slope_min, slope_max]; its Lipschitz constant is
the larger end in absolute value. The regulariser and the local certificates also need a''; an activation without one
says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor
from torch.nn import functional

Pointwise = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class Activation:
    """a(z) with a'(z) in [slope_min, slope_max], and a''(z) where it exists.

    An own activation, usable wherever a named one is (written as module-level functions, it can also be pickled):

    >>> cosine = Activation(name="cosine", value=torch.cos, slope=lambda z: -torch.sin(z),
    ...                     curvature=lambda z: -torch.cos(z), slope_min=-1.0, slope_max=1.0, curvature_max=1.0)
    >>> cosine.lipschitz
    1.0
    """

    name: str
    value: Pointwise
    slope: Pointwise
    slope_min: float
    slope_max: float
    curvature: Pointwise | None = None
    curvature_max: float | None = None

    def __post_init__(self) -> None:
        finite = math.isfinite(self.slope_min) and math.isfinite(self.slope_max)
        if not finite or self.slope_min > self.slope_max:
            raise ValueError(
                f"Activation {self.name!r} needs a finite slope interval with slope_min <= slope_max, "
                f"got [{self.slope_min}, {self.slope_max}]; only Lipschitz activations are admissible."
            )
        if (self.curvature is None) != (self.curvature_max is None):
            raise ValueError(
                f"Activation {self.name!r} states only one of curvature and curvature_max; give both, or neither."
            )

    @property
    def lipschitz(self) -> float:
        """L_a = max |a'|."""
        return max(abs(self.slope_min), abs(self.slope_max))

    @property
    def monotone(self) -> bool:
        """Whether a never decreases, as the paper's Theorem 3 takes for granted."""
        return self.slope_min >= 0

    def second_derivative(self, z: Tensor) -> Tensor:
        """a''(z), or a refusal where the activation has none."""
        if self.curvature is None:
            smooth = ", ".join(choice.value for choice in ActivationName if choice.activation.curvature is not None)
            raise ValueError(f"Activation {self.name!r} has no second derivative everywhere; use one of {smooth}.")
        return self.curvature(z)

    def __call__(self, z: Tensor) -> Tensor:
        return self.value(z)


def _tanh_slope(z: Tensor) -> Tensor:
    return 1 - torch.tanh(z).square()


def _tanh_curvature(z: Tensor) -> Tensor:
    t = torch.tanh(z)
    return -2 * t * (1 - t.square())


def _sigmoid_slope(z: Tensor) -> Tensor:
    s = torch.sigmoid(z)
    return s * (1 - s)


def _sigmoid_curvature(z: Tensor) -> Tensor:
    s = torch.sigmoid(z)
    return s * (1 - s) * (1 - 2 * s)


def _sin_curvature(z: Tensor) -> Tensor:
    return -torch.sin(z)


def _arctan_slope(z: Tensor) -> Tensor:
    return 1 / (1 + z.square())


def _arctan_curvature(z: Tensor) -> Tensor:
    return -2 * z / (1 + z.square()).square()


def _gelu_slope(z: Tensor) -> Tensor:
    return torch.special.ndtr(z) + z * _normal_density(z)


def _gelu_curvature(z: Tensor) -> Tensor:
    return (2 - z.square()) * _normal_density(z)


def _normal_density(z: Tensor) -> Tensor:
    return torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)


def _identity(z: Tensor) -> Tensor:
    return z


def _relu_slope(z: Tensor) -> Tensor:
    return (z > 0).to(z.dtype)


def _leaky_relu_slope(z: Tensor) -> Tensor:
    return torch.where(z > 0, torch.ones_like(z), torch.full_like(z, 0.01))


def _softsign_slope(z: Tensor) -> Tensor:
    return 1 / (1 + z.abs()).square()


# GELU's slope Phi(z) + z phi(z) is steepest at +-sqrt 2, where its derivative (2 - z^2) phi(z) vanishes.
_GELU_OVERSHOOT = math.sqrt(2) * math.exp(-1) / math.sqrt(2 * math.pi) - 0.5 * math.erfc(1.0)


class ActivationName(StrEnum):
    """The activations that a setting can name.

    >>> ActivationName("relu").activation.curvature is None
    True
    """

    TANH = "tanh"
    SIGMOID = "sigmoid"
    SOFTPLUS = "softplus"
    SIN = "sin"
    ARCTAN = "arctan"
    GELU = "gelu"
    IDENTITY = "identity"
    RELU = "relu"
    LEAKY_RELU = "leaky-relu"
    SOFTSIGN = "softsign"

    @property
    def activation(self) -> Activation:
        return _NAMED[self]


def activation(name: str) -> Activation:
    """The activation called ``name``.

    >>> activation("tanh").lipschitz
    1.0
    """
    try:
        return ActivationName(name).activation
    except ValueError:
        known = ", ".join(choice.value for choice in ActivationName)
        raise ValueError(f"Unknown activation {name!r}; choose one of {known}, or pass an own Activation.") from None


TANH = Activation(
    name="tanh", value=torch.tanh, slope=_tanh_slope, slope_min=0.0, slope_max=1.0,
    curvature=_tanh_curvature, curvature_max=4 / (3 * math.sqrt(3)),
)  # fmt: skip

_NAMED = {
    ActivationName.TANH: TANH,
    ActivationName.SIGMOID: Activation(
        name="sigmoid", value=torch.sigmoid, slope=_sigmoid_slope, slope_min=0.0, slope_max=0.25,
        curvature=_sigmoid_curvature, curvature_max=1 / (6 * math.sqrt(3)),
    ),
    ActivationName.SOFTPLUS: Activation(
        name="softplus", value=functional.softplus, slope=torch.sigmoid, slope_min=0.0, slope_max=1.0,
        curvature=_sigmoid_slope, curvature_max=0.25,
    ),
    ActivationName.SIN: Activation(
        name="sin", value=torch.sin, slope=torch.cos, slope_min=-1.0, slope_max=1.0,
        curvature=_sin_curvature, curvature_max=1.0,
    ),
    ActivationName.ARCTAN: Activation(
        name="arctan", value=torch.arctan, slope=_arctan_slope, slope_min=0.0, slope_max=1.0,
        curvature=_arctan_curvature, curvature_max=9 / (8 * math.sqrt(3)),
    ),
    ActivationName.GELU: Activation(
        name="gelu", value=functional.gelu, slope=_gelu_slope,
        slope_min=-_GELU_OVERSHOOT, slope_max=1 + _GELU_OVERSHOOT,
        curvature=_gelu_curvature, curvature_max=2 / math.sqrt(2 * math.pi),
    ),
    ActivationName.IDENTITY: Activation(
        name="identity", value=_identity, slope=torch.ones_like, slope_min=1.0, slope_max=1.0,
        curvature=torch.zeros_like, curvature_max=0.0,
    ),
    ActivationName.RELU: Activation(
        name="relu", value=torch.relu, slope=_relu_slope, slope_min=0.0, slope_max=1.0
    ),
    ActivationName.LEAKY_RELU: Activation(
        name="leaky-relu", value=functional.leaky_relu, slope=_leaky_relu_slope, slope_min=0.01, slope_max=1.0
    ),
    ActivationName.SOFTSIGN: Activation(
        name="softsign", value=functional.softsign, slope=_softsign_slope, slope_min=0.0, slope_max=1.0
    ),
}  # fmt: skip
