r"""Derivatives of a drift f at one instant.

For f = A h + a(z), z = W h + U x + b, with D = diag a'(z):

    f' = A + D W,        lambda . f'' = W^T diag(lambda * a''(z)) W,        tr(f'' C) = a''(z) * diag(W C W^T)

For any other drift the same quantities come from automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import hessian, jacrev, jvp, vmap

from noisyrnn.sde import Drift, TanhDrift
from noisyrnn.types import Drive, State

Matrices = Float[Tensor, "*batch units units"]


def jacobian(drift: Drift, h: State, u: Drive) -> Matrices:
    """f'(h, u).

    >>> drift = TanhDrift(A=-torch.eye(1), W=torch.eye(1), U=torch.ones(1, 1), b=torch.zeros(1))
    >>> jacobian(drift, torch.zeros(1, 1), torch.zeros(1, 1))
    tensor([[[0.]]])
    """
    if isinstance(drift, TanhDrift):
        return drift.jacobian(h, u)
    return _batched(jacrev(lambda h, u: drift(h, u)), h, u)


def curvature(drift: Drift, h: State, u: Drive, covector: State) -> Matrices:
    """Hessian of covector . f at h."""
    if isinstance(drift, TanhDrift):
        bent = covector * drift.activation.second_derivative(drift.preactivation(h, u))
        return drift.W.mT @ (bent.unsqueeze(-1) * drift.W)
    _require_smooth(drift)
    return _batched(hessian(lambda h, u, covector: (covector * drift(h, u)).sum()), h, u, covector)


def contraction(drift: Drift, h: State, u: Drive, C: Matrices) -> State:
    """tr(Hess f^p C) for each component p."""
    if isinstance(drift, TanhDrift):
        bent = drift.activation.second_derivative(drift.preactivation(h, u))
        return bent * ((drift.W @ C) * drift.W).sum(-1)
    _require_smooth(drift)
    return torch.einsum("...pij,...ij->...p", _batched(hessian(lambda h, u: drift(h, u)), h, u), C)


def second_variation(drift: Drift, h: State, u: Drive, v: State) -> State:
    """f''(h)[v, v]."""
    if isinstance(drift, TanhDrift):
        return drift.activation.second_derivative(drift.preactivation(h, u)) * (v @ drift.W.mT).square()
    _require_smooth(drift)

    def along(state: Tensor) -> Tensor:
        return jvp(lambda s: drift(s, u), (state,), (v,))[1]

    return jvp(along, (h,), (v,))[1]


def input_jacobian(
    drift: Drift, h: State, x: Float[Tensor, "*batch features"]
) -> Float[Tensor, "*batch units features"]:
    """d f / d x, through the drift's encoding of x."""
    return _batched(jacrev(lambda x, h: drift(h, drift.encode(x))), x, h)


def _batched(derivative: Callable[..., Tensor], *states: Tensor) -> Tensor:
    """vmap over all leading axes of the states."""
    shape = states[0].shape[:-1]
    flat = [state.expand(*shape, state.shape[-1]).reshape(-1, state.shape[-1]) for state in states]
    result = vmap(derivative)(*flat)
    return result.reshape(*shape, *result.shape[1:])


def _require_smooth(drift: Drift) -> None:
    """Refuse a drift that names an activation without a second derivative: automatic differentiation would say 0."""
    activation = getattr(drift, "activation", None)
    if activation is not None:
        activation.second_derivative(torch.zeros(1))
