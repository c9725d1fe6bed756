r"""Exact exponents of linear systems dE = F E dt + sum_k B_k E dB_k.

Moments: the tensor E[E x .. x E] (p factors) obeys a linear equation, so for even p

    Lambda_p = max Re eig( sum_i F_(i) + sum_{i<j} sum_k B_k(i) B_k(j) )      on symmetric tensors,
    p = 2:     max Re eig( F (x) I + I (x) F + sum_k B_k (x) B_k ),

and for one Euler-Maruyama step E[J (x) J] = (I + dt F) (x) (I + dt F) + dt sum_k B_k (x) B_k. Averages of sampled
||E||^p do not show this number: the mean is carried by paths too rare to be drawn.

Almost surely: if F and all B_k commute, E_t = exp((F - sum B_k^2/2) t + sum B_k B_k(t)) E_0, and the exponents are the
real parts of the eigenvalues of F - sum B_k^2/2 (the paper's Remark on dH = A H dt + B H dW, there for B = sigma I).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from noisyrnn.sde import SDE
from noisyrnn.theory.system.paths import double, drives

_LARGEST = 4096  # entries of E x .. x E beyond which the dense eigenvalue problem is refused


@dataclass(frozen=True, kw_only=True)
class LinearSystem:
    """dE = F E dt + sum_k B_k E dB_k, with F (d, d) and B (noises, d, d), in double precision.

    >>> gbm = LinearSystem(F=torch.tensor([[0.5]]), B=torch.tensor([[[1.5]]]))
    >>> moment_exponent(gbm, 2)
    3.25
    """

    F: Tensor
    B: Tensor

    def __post_init__(self) -> None:
        d = self.F.shape[0]
        if self.F.shape != (d, d) or self.B.ndim != 3 or self.B.shape[1:] != (d, d):
            raise ValueError(
                f"F must be (d, d) and B (noises, d, d), got {tuple(self.F.shape)} and {tuple(self.B.shape)}."
            )

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.F.detach().double().numpy(), self.B.detach().double().numpy()


def linear_system(sde: SDE, *, h: Tensor | None = None, x: Tensor | None = None) -> LinearSystem:
    """F = df/dh and B_k = dg_k/dh at one state h (units,) and input x (features,), zero by default.

    It governs small differences only where h is a fixed point of drift and noise; a linear system is its own.

    >>> from noisyrnn.sde import CommonNoise, TanhDrift
    >>> A = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> linear_system(SDE(TanhDrift(A, torch.zeros(2, 2), A, A[0]), CommonNoise(0.5))).B[0]
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]], dtype=torch.float64)
    """
    system = double(sde)
    u = drives(system, None if x is None else x.view(1, 1, -1), None)[0, 0]
    state = torch.zeros(sde.units, dtype=torch.float64) if h is None else h.detach().double()

    def columns(point: Tensor) -> Tensor:
        batch = point.unsqueeze(0)
        return system.diffusion.matrix(batch, system.drift(batch, u.unsqueeze(0)))[0]

    F = torch.func.jacrev(lambda point: system.drift(point.unsqueeze(0), u.unsqueeze(0))[0])(state)
    if system.noises == 0:
        return LinearSystem(F=F.detach(), B=F.new_zeros(0, sde.units, sde.units))
    B = torch.func.jacrev(columns)(state)
    return LinearSystem(F=F.detach(), B=B.detach().movedim(1, 0))


def moment_exponent(system: LinearSystem, p: int) -> float:
    """Lambda_p = lim (1/t) log E ||E_t||^p for even p, exactly.

    >>> rotation = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    >>> round(moment_exponent(LinearSystem(F=torch.zeros(2, 2), B=rotation[None]), 4), 9)
    2.0
    """
    F, B = system.arrays()
    d = len(F)
    if p < 2 or p % 2:
        raise ValueError(f"Moments of even order have an exact exponent here, got p={p}; else use moment_interval.")
    if d**p > _LARGEST:
        raise ValueError(
            f"{d} units and p={p} need a tensor of {d**p} entries, more than {_LARGEST}; use moment_interval."
        )
    generator = sum((_kronecker(d, p, {i: F}) for i in range(p)), np.zeros((d**p, d**p)))
    for b in B:
        generator += sum(_kronecker(d, p, {i: b, j: b}) for i, j in combinations(range(p), 2))
    basis = _symmetric_basis(d, p)
    return float(np.linalg.eigvals(basis.T @ generator @ basis).real.max())


def step_moment_exponent(system: LinearSystem, *, dt: float) -> float:
    """log rho(E[J (x) J]) / dt: second-moment exponent of the Euler-Maruyama map.

    >>> gbm = LinearSystem(F=torch.tensor([[0.5]]), B=torch.tensor([[[1.5]]]))
    >>> round(step_moment_exponent(gbm, dt=0.01), 12)
    3.200725863498
    """
    F, B = system.arrays()
    J = np.eye(len(F)) + dt * F
    square = np.kron(J, J) + dt * sum((np.kron(b, b) for b in B), np.zeros((F.size, F.size)))
    return float(np.log(np.abs(np.linalg.eigvals(square)).max()) / dt)


def commuting_exponents(system: LinearSystem, *, tolerance: float = 1e-9) -> Tensor:
    """Re eig(F - sum_k B_k^2/2), in falling order, of a system whose matrices all commute.

    >>> F = torch.tensor([[0.5, 1.0], [-1.0, 0.5]])
    >>> commuting_exponents(LinearSystem(F=F, B=1.5 * torch.eye(2)[None]))
    tensor([-0.6250, -0.6250], dtype=torch.float64)
    """
    F, B = system.arrays()
    size = max([np.abs(F).max(), *(np.abs(b).max() for b in B)]) ** 2
    gap = max((np.abs(a @ b - b @ a).max() for a, b in combinations([F, *B], 2)), default=0.0)
    if gap > tolerance * max(size, 1e-300):
        raise ValueError(
            f"The matrices do not commute (largest entry of a commutator {gap:.3g}); use lyapunov_spectrum, "
            "or planar_exponent in the plane."
        )
    exponents = np.linalg.eigvals(F - sum((b @ b for b in B), np.zeros_like(F)) / 2).real
    return torch.from_numpy(np.sort(exponents)[::-1].copy())


def _kronecker(d: int, p: int, factors: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The Kronecker product of p factors: those given at their places, the identity elsewhere."""
    placed = np.eye(1)
    for i in range(p):
        placed = np.kron(placed, factors.get(i, np.eye(d))).astype(np.float64)
    return placed


def _symmetric_basis(d: int, p: int) -> NDArray[np.float64]:
    """Orthonormal symmetric tensors, (d^p, dimension): outside them the operator may grow faster than any moment."""
    shape = (d,) * p
    columns = []
    for multiset in combinations_with_replacement(range(d), p):
        orders: Sequence[tuple[int, ...]] = list(set(permutations(multiset)))
        column = np.zeros(shape)
        for order in orders:
            column[order] = len(orders) ** -0.5
        columns.append(column.ravel())
    return np.stack(columns, axis=1)
