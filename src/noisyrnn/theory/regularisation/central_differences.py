r"""Theorem 1's regulariser by central differences along the network's own noise: three plain passes by the fast route.

    l(+d xi) / 2 + l(-d xi) / 2 - l(0) = d^2 / 2  d^2 l[xi, xi] + O(d^4),       E d^2 l[xi, xi] = Q + R

h_M is a function of all noise numbers xi of a call, and Q + R is the trace of the Hessian of the loss in them, each
weighed by its variance. The two signs of one path take out what is odd in it, so the size d need not be tiny: 1/4 keeps
rounding in single precision and the fourth order both below the spread of a single path, which is as large as that of
``probe``. Q and R are not told apart.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.rnn.cell import Call, NoisePath
from noisyrnn.rnn.routes import Route, chosen, suits_kernel
from noisyrnn.rnn.tanh_fast_path import TanhFastPath
from noisyrnn.sde import Convention, Key, NoiseLaw, draw, uniform
from noisyrnn.theory.system.loss import Loss
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Sequence, State


def expected_loss_by_differences(
    network: Network, x: Sequence, loss: Loss, *, key: Key, size: float = 0.25, epsilon: float = 1.0
) -> Float[Tensor, " batch"]:
    """l + eps^2 / 2 (Q + R), Q + R estimated along the noise path of one key; about the mean of released noise.

    Parameters
    ----------
    network, x, loss
        The network, of the tanh family with noise of either convention, its inputs and a loss of its last state.
    key
        Of the noise path.
    size
        d: how large the noise is that differences are taken with, in units of the network's own.
    epsilon
        Scale of the noise whose mean loss is asked for.

    Returns
    -------
    Tensor
        One number per sample, differentiable.

    Examples
    --------
    >>> from noisyrnn.sde import AdditiveNoise, TanhDrift
    >>> from noisyrnn.theory.system.loss import OwnLoss
    >>> drift = TanhDrift(A=-torch.eye(1), W=torch.zeros(1, 1), U=torch.zeros(1, 1), b=torch.zeros(1))
    >>> network, x = Network(drift=drift, dt=0.5, diffusion=AdditiveNoise(0.2)), torch.zeros(20000, 1, 1)
    >>> found = expected_loss_by_differences(network, x, OwnLoss(lambda h: h.square().sum()), key=Key(value=0))
    >>> print(f"{found.mean().item():.3f}")  # E h^2 = dt sigma^2
    0.020
    """
    if not size > 0 or epsilon < 0:
        raise ValueError(f"Differences need a size above 0 and epsilon at least 0, got {size} and {epsilon}.")
    mean = network.centred()
    sound = loss.value(_end(mean, x, key, 0.0))
    there, back = (loss.value(_end(mean, x, key, sign * size)) for sign in (1.0, -1.0))
    return sound + (epsilon / size) ** 2 * (0.5 * (there + back) - sound)


def _end(network: Network, x: Sequence, key: Key, size: float) -> State:
    """h_M with the noise of a key times ``size``, of either sign, about the network without noise."""
    strengths = network.diffusion.strengths()
    if strengths is None:
        raise ValueError("Differences need noise of one of the paper's conventions; use probe, which takes any.")
    additive, multiplicative = strengths
    dt = torch.as_tensor(network.dt, dtype=x.dtype, device=x.device)
    law = NoiseLaw(convention=Convention.ITO, multiplicative=size * multiplicative)
    if network.released is not None:
        # dt (1 + d m (U - 1/2)) in the words of the convention, dt' (1 - m' + m' U).
        half = 0.5 * size * network.released.multiplicative
        dt = dt * (1 + half)
        law = NoiseLaw(convention=Convention.RELEASED, multiplicative=2 * half / (1 + half))
    law = replace(law, additive=None if additive is None else size * additive)
    silent = size == 0 or (additive is None and network.released is None)

    def paths(key: Key, samples: int, steps: int, like: Tensor) -> NoisePath:
        xi, uniforms = (law(key, samples, steps, network.units).to(like) for law in (draw, uniform))
        return NoisePath(xi, uniforms)

    fast = TanhFastPath.of(network.drift, law, None, paths)
    if fast is None:
        raise ValueError("Differences need a drift A h + tanh(W h + u) without a gate; use probe, which takes any.")
    call, inputs = Call(key=None if silent else key, dt=dt, outputs=False), x.transpose(0, 1)
    route, found = chosen(), None
    if route in (Route.AUTO, Route.NATIVE) and suits_kernel(inputs, route):
        found = fast.by_kernel(inputs, (network.start(x),), call)
    if found is None:
        found = fast.by_eager(inputs, (network.start(x),), call)
    assert found is not None  # a drift without a gate
    return found[1][0]
