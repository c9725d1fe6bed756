r"""Losses of a hidden state with what Theorem 1 needs: value, gradient, Hessian and a root L L^T = Hess l.

Cross entropy of z = V h + c with p = softmax(z):

    grad l = V^T (p - e_y),   Hess l = V^T (diag p - p p^T) V = L L^T,   L = V^T B,   B = diag(s) - p s^T,   s = sqrt p

The paper's Section 5 asks for a Cholesky factor of Hess l. The Hessian has rank at most classes - 1, so a Cholesky
routine fails on it; B is a root in closed form. s = exp(log_softmax / 2) has a finite gradient where p underflows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import grad, hessian, vmap

from noisyrnn.types import State

Values = Float[Tensor, " batch"]
Directions = Float[Tensor, "*many batch units"]
Forms = Float[Tensor, "*many batch"]


class Loss(ABC):
    """l(h), one number per sample; ``root`` is None where the Hessian has no cheap root (or is not positive)."""

    @abstractmethod
    def value(self, h: State) -> Values: ...

    @abstractmethod
    def gradient(self, h: State) -> State: ...

    @abstractmethod
    def hessian(self, h: State) -> Float[Tensor, "batch units units"]: ...

    def root(self, h: State) -> Float[Tensor, "columns batch units"] | None:
        """Columns of L, L L^T = Hess l."""
        return None

    def form(self, h: Float[Tensor, "batch units"], v: Directions) -> Forms:
        """v^T Hess l v, for one or many directions per sample."""
        return torch.einsum("...bi,bij,...bj->...b", v, self.hessian(h), v)


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossEntropy(Loss):
    """l(h) = -log softmax(V h + c)_y.

    >>> CrossEntropy(V=torch.eye(2), y=torch.tensor([0])).value(torch.zeros(1, 2))
    tensor([0.6931])
    """

    V: Float[Tensor, "classes units"]
    y: Int[Tensor, " batch"]
    c: Float[Tensor, " classes"] | None = None

    def __post_init__(self) -> None:
        classes = self.V.shape[0]
        if bool(((self.y < 0) | (self.y >= classes)).any()):
            raise ValueError(f"Labels must lie in 0 .. {classes - 1}, got {self.y.min()} .. {self.y.max()}.")

    def _log_p(self, h: State) -> Tensor:
        return nn.functional.linear(h, self.V, self.c).log_softmax(-1)

    def value(self, h: State) -> Values:
        return -self._log_p(h).gather(-1, self.y.unsqueeze(-1)).squeeze(-1)

    def gradient(self, h: State) -> State:
        return (self._log_p(h).exp() - nn.functional.one_hot(self.y, self.V.shape[0])) @ self.V

    def root(self, h: State) -> Float[Tensor, "columns batch units"]:
        log_p = self._log_p(h)
        p, s = log_p.exp(), (0.5 * log_p).exp()
        B = torch.diag_embed(s) - p.unsqueeze(-1) * s.unsqueeze(-2)
        return (B.mT @ self.V).transpose(0, 1)

    def hessian(self, h: State) -> Float[Tensor, "batch units units"]:
        L = self.root(h)
        return torch.einsum("kbi,kbj->bij", L, L)

    def form(self, h: Float[Tensor, "batch units"], v: Directions) -> Forms:
        p, a = self._log_p(h).exp(), v @ self.V.mT
        return (p * (a - (p * a).sum(-1, keepdim=True)).square()).sum(-1)


@dataclass(frozen=True, kw_only=True, eq=False)
class SquaredError(Loss):
    """l(h) = ||V h + c - y||^2 / 2.

    >>> SquaredError(V=torch.eye(2), y=torch.ones(1, 2)).value(torch.zeros(1, 2))
    tensor([1.])
    """

    V: Float[Tensor, "targets units"]
    y: Float[Tensor, "batch targets"]
    c: Float[Tensor, " targets"] | None = None

    def value(self, h: State) -> Values:
        return 0.5 * (nn.functional.linear(h, self.V, self.c) - self.y).square().sum(-1)

    def gradient(self, h: State) -> State:
        return (nn.functional.linear(h, self.V, self.c) - self.y) @ self.V

    def root(self, h: State) -> Float[Tensor, "columns batch units"]:
        return self.V.unsqueeze(1).expand(-1, h.shape[0], -1)

    def hessian(self, h: State) -> Float[Tensor, "batch units units"]:
        return (self.V.mT @ self.V).expand(h.shape[0], -1, -1)

    def form(self, h: Float[Tensor, "batch units"], v: Directions) -> Forms:
        return (v @ self.V.mT).square().sum(-1)


@dataclass(frozen=True, eq=False)
class OwnLoss(Loss):
    """l(h) from any function of one state (units,) that returns one number; derivatives by autodiff.

    >>> OwnLoss(lambda h: h.square().sum()).hessian(torch.zeros(1, 1))
    tensor([[[2.]]])
    """

    function: Callable[[Tensor], Tensor]

    def value(self, h: State) -> Values:
        return vmap(self.function)(h)

    def gradient(self, h: State) -> State:
        return vmap(grad(self.function))(h)

    def hessian(self, h: State) -> Float[Tensor, "batch units units"]:
        return vmap(hessian(self.function))(h)
