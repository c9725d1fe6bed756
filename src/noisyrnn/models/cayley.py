r"""The Cayley map Q = (I + S)^-1 (I - S) of a skew matrix S, or as many of its first columns as are needed.

With S = [[A, -B^T], [B, C]] and the first columns those of A, elimination of the other rows leaves

    Y = (I + C)^-1 B,   P = (I + A + B^T Y)^-1,   first columns of (I + S)^-1 = [P; -Y P],   of Q = 2 [P; -Y P] - [I; 0]

All that is inverted has a symmetric part of at least I, so that no rows need to be exchanged, and blocks can be
eliminated one after the other by matrix products, which are faster than a factorisation at these sizes.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from noisyrnn.rnn.tracing import traced

_SMALL = 64  # an inverse by torch, below which blocks would not be faster


def cayley(S: Float[Tensor, "n n"], columns: int | None = None) -> Tensor:
    """(I + S)^-1 (I - S): orthogonal for skew S, without eigenvalue -1; its first ``columns`` where they are enough.

    >>> S = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> cayley(S).round(decimals=4) + 0.0
    tensor([[ 0., -1.],
            [ 1.,  0.]])
    """
    count = S.shape[0] if columns is None else columns
    if traced():
        return _plain(S, count)
    found: Tensor = _Columns.apply(S, count)
    return found


def _plain(S: Tensor, columns: int) -> Tensor:
    """By torch's own inverse, all of whose derivatives it knows."""
    identity = torch.eye(S.shape[0], dtype=S.dtype, device=S.device)
    return (2 * torch.linalg.inv(identity + S) - identity)[:, :columns]


class _Columns(torch.autograd.Function):
    """The first columns by elimination; a gradient G of them is one of S by -2 (I + S)^-T G [P; -Y P]^T."""

    @staticmethod
    def forward(ctx: Any, S: Tensor, m: int) -> Tensor:
        B, identity = S[m:, :m], torch.eye(m, dtype=S.dtype, device=S.device)
        below = _inverse(torch.eye(len(B), dtype=S.dtype, device=S.device) + S[m:, m:])
        Y = below @ B
        P = _inverse(torch.addmm(identity + S[:m, :m], B.mT, Y))
        first = torch.cat((P, -(Y @ P)))
        ctx.save_for_backward(S, below, first)
        ctx.columns = m
        found = 2 * first
        found[:m].diagonal().sub_(1)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (G,), (S, below, first), m = gradients, ctx.saved_tensors, ctx.columns
        if torch.is_grad_enabled():  # derivatives of this gradient are asked for
            return torch.autograd.grad(_plain(S, m), S, G, create_graph=True)[0], None
        B, P = S[m:, :m], first[:m]
        above = P.mT @ torch.addmm(G[:m], B.mT, below.mT @ G[m:], alpha=-1)
        solved = torch.cat((above, below.mT @ torch.addmm(G[m:], B, above)))
        return (-2 * solved) @ first.mT, None


def _inverse(M: Tensor) -> Tensor:
    """Of a matrix whose symmetric part is positive, by halves."""
    if len(M) <= _SMALL:
        return torch.linalg.inv(M) if len(M) else M
    half = len(M) // 2
    B, C = M[:half, half:], M[half:, :half]
    X = _inverse(M[:half, :half])
    XB = X @ B
    Z = _inverse(torch.addmm(M[half:, half:], C, XB, alpha=-1))
    ZCX = Z @ (C @ X)
    top = torch.cat((torch.addmm(X, XB, ZCX), -(XB @ Z)), 1)
    return torch.cat((top, torch.cat((-ZCX, Z), 1)))
