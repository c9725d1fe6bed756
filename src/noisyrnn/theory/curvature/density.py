r"""Spectral density of a Hessian by stochastic Lanczos quadrature, all eigenvalues at once in a few products.

    phi(t) = (1/n) sum_i delta(t - lambda_i)  ~  mean over probes v of  sum_j tau_j^2 delta(t - theta_j)

where theta_j are the eigenvalues of the tridiagonal matrix T that m Lanczos steps from v give, and tau_j the first
entries of its eigenvectors (Golub and Welsch; Ghorbani, Krishnan, Xiao 2019). Vectors are orthogonalised against all
earlier ones, twice: without it Lanczos finds the same eigenvalue again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded where they are used: together they take a second
import torch
from torch import Tensor

from noisyrnn.theory.curvature.hessian import Hessian


@dataclass(frozen=True, kw_only=True)
class Density:
    """Point masses ``weights`` at ``nodes``, both (probes, steps); the weights of a probe sum to 1."""

    nodes: Tensor
    weights: Tensor

    @property
    def mean(self) -> float:
        """int t phi(t) dt = tr H / n."""
        return float((self.nodes * self.weights).sum(1).mean())

    @property
    def mean_error(self) -> float:
        """Standard error of the mean, over probes."""
        return float((self.nodes * self.weights).sum(1).std() / len(self.nodes) ** 0.5)

    @property
    def second_moment(self) -> float:
        """int t^2 phi(t) dt = ||H||_F^2 / n."""
        return float((self.nodes.square() * self.weights).sum(1).mean())

    @property
    def width(self) -> float:
        """A smoothing width that suits the range of the nodes: one hundredth of it."""
        return max(float(self.nodes.max() - self.nodes.min()) / 100, 1e-12)

    def at(self, t: Tensor, *, width: float | None = None) -> Tensor:
        """phi(t) with each point mass spread to a Gaussian of the given standard deviation."""
        width = self.width if width is None else width
        gap = (t.double()[:, None] - self.nodes.flatten()) / width
        bells = torch.exp(-gap.square() / 2) / (width * (2 * torch.pi) ** 0.5)
        return bells @ self.weights.flatten() / len(self.weights)


def spectral_density(H: Hessian, *, steps: int = 60, probes: int = 4, seed: int = 0) -> Density:
    """Nodes and weights of phi(t) = (1/n) sum_i delta(t - lambda_i), from ``steps`` x ``probes`` products.

    >>> from torch import nn
    >>> x, y = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(2, 1)
    >>> H = Hessian(nn.Linear(2, 1, bias=False), x, y, loss=lambda net, x, y: (net(x) - y).square().mean())
    >>> spectral_density(H, probes=2).nodes
    tensor([[1.0000, 4.0000],
            [1.0000, 4.0000]], dtype=torch.float64)
    """
    if steps < 1 or probes < 2:
        raise ValueError(f"Give steps >= 1 and probes >= 2, for an error estimate, got {steps=}, {probes=}.")
    generator = torch.Generator().manual_seed(seed)
    signs = 2 * torch.randint(0, 2, (probes, H.size), generator=generator).double() - 1
    rules = [_quadrature(H, v / H.size**0.5, min(steps, H.size)) for v in signs]
    longest = max(len(nodes) for nodes, _ in rules)

    def padded(values: Tensor, filler: float) -> Tensor:
        return torch.nn.functional.pad(values, (0, longest - len(values)), value=filler)

    # A probe inside an invariant subspace ends early; masses of zero at its last node fill its row.
    return Density(
        nodes=torch.stack([padded(nodes, float(nodes[-1])) for nodes, _ in rules]),
        weights=torch.stack([padded(weights, 0.0) for _, weights in rules]),
    )


def _quadrature(H: Hessian, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    basis, diagonal, off = [v], list[float](), list[float]()
    for _ in range(steps):
        w = H.product(basis[-1]).double().cpu()
        diagonal.append(float(w @ basis[-1]))
        known = torch.stack(basis)
        for _ in range(2):
            w = w - known.mT @ (known @ w)
        norm = float(w.norm())
        # Below rounding of the products, what is left is noise and the subspace is complete.
        if norm <= 1e-10 * max(map(abs, [*diagonal, *off, 1e-300])):
            break
        off.append(norm)
        basis.append(w / norm)
    nodes, vectors = scipy.linalg.eigh_tridiagonal(np.array(diagonal), np.array(off[: len(diagonal) - 1]))
    return torch.from_numpy(nodes), torch.from_numpy(vectors[0] ** 2)
