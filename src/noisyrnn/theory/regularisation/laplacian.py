r"""Theorem 1 for any drift, diffusion, scheme and loss: the Laplacian of the loss over the noise.

    F(xi) = loss of the path driven by xi,      E F(eps xi) = F(0) + eps^2 / 2 tr Hess F(0) + O(eps^4)

so Q + R = tr Hess F(0), whatever F is.

Automatic differentiation needs one Hessian-vector product for each noise number, O(M r) network passes: the definition
that the fast recursions are tested against, and the way for systems that they do not cover.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad, jvp, vmap

from noisyrnn.theory.regularisation.small_noise import noisy_states
from noisyrnn.theory.system.loss import Loss
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Path, Sequence


def noise_laplacian(
    loss: Callable[[Path], Float[Tensor, " batch"]], noise: Path, *, chunk: int = 64
) -> Float[Tensor, " batch"]:
    """tr Hess F(0), for a function F of a noise path (time, batch, noises) that gives one number per sample.

    ``noise`` gives the shape and dtype; its values do not matter. Samples must not influence each other. ``chunk``
    Hessian-vector products run at once.

    >>> noise_laplacian(lambda xi: (xi**2).sum((0, 2)), torch.zeros(3, 1, 2))
    tensor([12.])
    """
    time, batch, noises = noise.shape
    origin = torch.zeros_like(noise)

    def slope(xi: Tensor) -> Tensor:
        return grad(lambda path: loss(path).sum())(xi)

    def second(index: Tensor) -> Tensor:
        direction = torch.nn.functional.one_hot(index, time * noises).to(noise.dtype).reshape(time, 1, noises)
        along = direction.expand(time, batch, noises)
        return (jvp(slope, (origin,), (along,))[1] * along).sum((0, 2))

    if time * noises == 0:
        return noise.new_zeros(batch)
    return vmap(second, chunk_size=chunk)(torch.arange(time * noises)).sum(0)


def regulariser_by_autodiff(
    network: Network, x: Sequence, loss: Loss | Callable[[Tensor], Tensor], *, chunk: int = 64
) -> Float[Tensor, " batch"]:
    """Q + R by differentiating the noisy network; ``loss`` is a Loss of h_M or any function of h_0 .. h_M.

    A function gets the states (batch, M + 1, units) and returns one number per sample, so losses at every step, or of
    several steps together, are covered.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(additive=0.4, multiplicative=0.6)
    >>> print(f"{regulariser_by_autodiff(P.network, P.x, P.loss).item():.12f}")
    0.202275420565
    """
    if network.released is not None:
        raise ValueError(
            "Released noise is uniform and has a mean, so its law is not that of a Gaussian path; use regulariser(...)."
        )
    noises = network.diffusion.noises(network.units)

    def of_path(xi: Tensor) -> Tensor:
        states = noisy_states(network, x, xi)
        return loss.value(states[:, -1]) if isinstance(loss, Loss) else loss(states)

    return noise_laplacian(of_path, x.new_zeros(x.shape[1], x.shape[0], noises), chunk=chunk)
