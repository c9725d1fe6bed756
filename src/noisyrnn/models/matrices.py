r"""Structured matrices, built once per sequence from plain parameters.

    skew plus decay   M = (1 - beta)(B + B^T) + beta (B - B^T) - gamma I        Lipschitz RNN, noisy RNN
    skew              M = B - B^T - gamma I                                     antisymmetric RNN (beta = 1)
    orthogonal        Q = exp(S) or (I + S)^-1 (I - S), S skew                  exponential RNN
    dynamic           Q = Q_0 exp(S), with Q_0 moved to Q and S to 0 now and then

Plain parameters, not ``torch.nn.utils.parametrize``: parametrised modules cannot be pickled and rebuild at each access.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from noisyrnn.models.cayley import cayley
from noisyrnn.models.choice import refuse_other
from noisyrnn.rnn.tracing import traced

Square = Float[Tensor, "n n"]


def skew_plus_decay(B: Square, beta: float, gamma: float) -> Square:
    """(1 - beta)(B + B^T) + beta (B - B^T) - gamma I.

    >>> skew_plus_decay(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), beta=1.0, gamma=0.5)
    tensor([[-0.5000,  1.0000],
            [-1.0000, -0.5000]])
    """
    # B enters with weight (1 - beta) + beta = 1, its transpose with (1 - beta) - beta.
    built = torch.add(B, B.mT, alpha=1 - 2 * beta)
    if torch.is_grad_enabled() or traced():
        return built.sub(torch.eye(B.shape[0], dtype=B.dtype, device=B.device), alpha=gamma)
    built.diagonal().sub_(gamma)  # a gradient through this would take longer than the above
    return built


def upper_skew(A: Square) -> Square:
    """triu(A) - triu(A)^T, strictly above the diagonal: n (n - 1) / 2 free numbers."""
    upper = A.triu(1)
    return upper - upper.mT


def polar(M: Square) -> Square:
    """The orthogonal matrix nearest to M."""
    left, _, right = torch.linalg.svd(M)
    return left @ right


class Parametrisation(StrEnum):
    """How an orthogonal matrix is made from free parameters."""

    EXPONENTIAL = "exponential"
    CAYLEY = "cayley"
    DYNAMIC = "dynamic"


class RotationStart(StrEnum):
    """Law of the initial rotation angles: of Henaff et al. (2016), or of the Cayley map (Helfrich et al. 2018)."""

    HENAFF = "henaff"
    CAYLEY = "cayley"


class Kept:
    """What was made of tensors, until one of them changes, however it was changed: copies of them are compared.

    In use, one sequence after another meets the same matrices. With gradients, where torch looks, and on other devices
    than the CPU everything is made anew. A copy of it, or of what holds it, begins empty.

    >>> kept, B = Kept(), torch.ones(1)
    >>> with torch.no_grad():
    ...     first = kept((B,), lambda: (2 * B,))
    ...     again = kept((B,), lambda: (2 * B,))
    >>> again[0] is first[0]
    True
    """

    def __init__(self) -> None:
        self._known: tuple[tuple[Any, ...], list[Tensor], tuple[Tensor, ...]] | None = None

    def __call__(
        self, sources: Sequence[Tensor], make: Callable[[], tuple[Tensor, ...]], *numbers: Any
    ) -> tuple[Tensor, ...]:
        """What ``make`` makes of ``sources`` and of ``numbers``."""
        if torch.is_grad_enabled() or traced() or sources[0].device.type != "cpu":
            return make()
        known = self._known
        if known is None or known[0] != numbers or not all(map(_same, known[1], sources)):
            self._known = known = numbers, [source.clone() for source in sources], make()
        return known[2]

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


def _same(one: Tensor, other: Tensor) -> bool:
    if one.dtype != other.dtype:
        return False
    if one.dtype in (torch.float32, torch.float64):
        return np.array_equal(one.detach().numpy(), other.detach().numpy())  # in less than half of torch's time
    return torch.equal(one, other)


class Orthogonal(nn.Module):
    """Q in SO(n) from a free n x n parameter of which the upper triangle counts.

    With the dynamic trivialisation (Lezcano-Casado 2019) the base moves to the current Q every ``rebase`` training
    sequences (None: only at the start), *before* Q is built, so that the gradient is that of the new base; every
    ``polish`` rebases the base is made exactly orthogonal again. Given a ``base``, Q begins there, whatever the
    parametrisation; else at rotations by random angles.

    >>> Q = Orthogonal(4, Parametrisation.DYNAMIC)()
    >>> torch.allclose(Q @ Q.mT, torch.eye(4), atol=1e-5)
    True
    """

    base: Tensor
    sequences: Tensor

    def __init__(
        self,
        units: int,
        parametrisation: Parametrisation,
        *,
        start: RotationStart = RotationStart.CAYLEY,
        rebase: int | None = 100,
        polish: int = 100,
        base: Square | None = None,
    ) -> None:
        super().__init__()
        for name, number in {"rebase": rebase, "polish": polish}.items():
            if number is not None and number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}.")
        refuse_other("parametrisation", parametrisation, Parametrisation)
        refuse_other("start", start, RotationStart)
        self._kept = Kept()
        self.parametrisation = parametrisation
        self.rebase = rebase
        self.polish = polish
        dynamic = parametrisation is Parametrisation.DYNAMIC
        angles = block_rotations(units, start) if base is None else torch.zeros(units, units)
        self.based = dynamic or base is not None
        self.A = nn.Parameter(torch.zeros_like(angles) if dynamic else angles)
        if self.based:
            self.register_buffer("base", torch.matrix_exp(upper_skew(angles)) if base is None else base)
        if dynamic:
            self.register_buffer("sequences", torch.zeros((), dtype=torch.int64))

    def forward(self, columns: int | None = None) -> Tensor:
        """Q, or as many of its first columns as are needed."""
        if self.parametrisation is Parametrisation.DYNAMIC and self.training and torch.is_grad_enabled():
            self._count()
        sources = [self.A, self.base] if self.based else [self.A]
        [Q] = self._kept(sources, lambda: (self._made(columns),), columns)
        return Q

    def _made(self, columns: int | None) -> Tensor:
        S = upper_skew(self.A)
        turned = cayley(S, columns) if self.parametrisation is Parametrisation.CAYLEY else torch.matrix_exp(S)
        return self.base @ turned[:, :columns] if self.based else turned[:, :columns]

    def extra_repr(self) -> str:
        return f"units={len(self.A)}, parametrisation={self.parametrisation}"

    @torch.no_grad()
    def _count(self) -> None:
        passed = int(self.sequences)
        self.sequences = self.sequences + 1
        if self.rebase is None or passed == 0 or passed % self.rebase:
            return
        moved = self.base @ torch.matrix_exp(upper_skew(self.A))
        self.base = polar(moved) if (passed // self.rebase) % self.polish == 0 else moved
        # A new storage: graphs of earlier sequences keep the values they were made with.
        self.A.data = torch.zeros_like(self.A)


def slow_start(states: int, size: int, memory: float) -> Square:
    """An orthogonal matrix whose first rows and columns, the states, turn slowly and lose a little at each step.

    State i gives a share 1 / m_i of its energy to the others at each step, with m_i between 2 and ``memory``, and turns
    with a partner once in between 4 and ``memory`` steps; both evenly on a logarithmic scale. Of a random orthogonal
    matrix, half of whose rows are states, nothing is left after a few steps.

    >>> _ = torch.manual_seed(0)
    >>> Q = slow_start(8, 12, memory=100.0)
    >>> torch.allclose(Q @ Q.mT, torch.eye(12), atol=1e-5)
    True
    """
    others, half = size - states, states // 2
    shares = 1 / _logarithmic(states, 2.0, memory)
    outlets, _ = torch.linalg.qr(torch.randn(max(states, others), others))
    outlets = outlets[:states] / outlets[:states].norm(dim=1, keepdim=True).clamp(min=1e-6)
    leak = torch.zeros(size, size)
    leak[:states, states:] = shares.sqrt().asin().unsqueeze(1) * outlets
    turn = torch.zeros(size, size)
    first = torch.arange(half)
    # Partners far apart: neighbours would be undone by an activation that sorts them.
    turn[first, first + half] = 2 * math.pi / _logarithmic(half, 4.0, max(4.0, memory))
    mixed, _ = torch.linalg.qr(torch.randn(others, others))
    Q = torch.matrix_exp(upper_skew(leak)) @ torch.matrix_exp(upper_skew(turn))
    return torch.cat((Q[:, :states], Q[:, states:] @ mixed), dim=1)


def _logarithmic(count: int, low: float, high: float) -> Tensor:
    return torch.exp(torch.empty(count).uniform_(math.log(low), math.log(high)))


def block_rotations(units: int, start: RotationStart) -> Square:
    """Block-diagonal skew matrix of random plane rotations; an odd unit is left at rest."""
    planes = units // 2
    if start is RotationStart.HENAFF:
        angles = torch.empty(planes).uniform_(-math.pi, math.pi)
    else:
        angles = -torch.tan(torch.empty(planes).uniform_(0, math.pi / 2) / 2)
    S = torch.zeros(units, units)
    first = torch.arange(planes) * 2
    S[first, first + 1] = angles
    S[first + 1, first] = -angles
    return S
