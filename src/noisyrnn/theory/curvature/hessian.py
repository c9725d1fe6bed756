r"""The Hessian H of a training loss over the parameters: products, extreme eigenvalues, trace.

    H v = d/dp <dL/dp, v>,        L(p) = (1/n) sum_i loss_i(p)

by two backward passes, batch by batch, each batch weighed by its share of the samples, so that a last, smaller one
counts exactly and memory stays that of one batch. Extreme eigenvalues come from ARPACK (implicitly restarted Lanczos),
the trace from random probes, with a standard error.

Trace estimators: Hutchinson (1990), (1/m) sum_i w_i^T H w_i with signs w_i; XTrace (Epperly, Tropp, Webber 2024), which
takes the range of H on the other probes out exactly and is far better where few eigenvalues dominate.

The paper's Figure 3 was computed with PyHessian, whose trace stops by a tolerance that fires at once and states no
error. The network is held in evaluation mode, so that its own noise is off and H is one fixed symmetric matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts are loaded where they are used: together they take a second
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from noisyrnn.rnn.mode import evaluating
from noisyrnn.rnn.routes import Route, routed

BatchLoss = Callable[[Any, Tensor, Tensor], Tensor]
"""loss(network, x, y): the mean loss over a batch."""


def cross_entropy(network: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Mean cross entropy of the logits network(x) against the labels y."""
    return functional.cross_entropy(network(x), y)


class Hessian:
    """v -> H v for the mean loss over x, y, at the network's present parameters.

    Parameters
    ----------
    network
        Held in evaluation mode wherever H is used.
    x, y
        Samples first.
    loss
        loss(network, x, y), the mean over a batch.
    names
        Which parameters: full names, or names of submodules for all below them; by default all that ask for a gradient.
    batch
        Samples that are in memory at once, all by default.

    Examples
    --------
    >>> network = nn.Linear(2, 1, bias=False)
    >>> x, y = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(2, 1)
    >>> H = Hessian(network, x, y, loss=lambda net, x, y: (net(x) - y).square().mean(), batch=1)
    >>> H.dense()
    tensor([[1., 0.],
            [0., 4.]])
    """

    def __init__(
        self,
        network: nn.Module,
        x: Tensor,
        y: Tensor,
        *,
        loss: BatchLoss = cross_entropy,
        names: Sequence[str] | None = None,
        batch: int | None = None,
    ) -> None:
        if len(x) != len(y) or len(x) == 0:
            raise ValueError(f"x and y need the same number of samples, at least 1, got {len(x)} and {len(y)}.")
        if batch is not None and batch < 1:
            raise ValueError(f"batch must be at least 1 sample, got {batch}.")
        self.network, self.x, self.y, self.loss = network, x, y, loss
        self.batch = len(x) if batch is None else batch
        self.parameters = chosen_parameters(network, names)
        self.size = sum(parameter.numel() for parameter in self.parameters.values())

    def product(self, v: Tensor) -> Tensor:
        """H v for v of shape (size,) or (size, k); columns share the forward pass."""
        if v.shape[0] != self.size or v.ndim > 2:
            raise ValueError(f"v must be ({self.size},) or ({self.size}, k), got shape {tuple(v.shape)}.")
        parameters = list(self.parameters.values())
        columns = v.reshape(self.size, -1).to(parameters[0]).unbind(1)
        total = torch.zeros(self.size, len(columns), dtype=parameters[0].dtype, device=parameters[0].device)
        # A gradient that is differentiated again needs a plain graph; the faster routes would make one beside theirs.
        with evaluating(self.network), torch.enable_grad(), routed(Route.SCAN):
            for x, y in zip(self.x.split(self.batch), self.y.split(self.batch), strict=True):
                value = self.loss(self.network, x, y) * (len(x) / len(self.x))
                slope = torch.autograd.grad(value, parameters, create_graph=True, materialize_grads=True)
                flat = torch.cat([part.reshape(-1) for part in slope])
                if not flat.requires_grad:
                    continue  # a loss that is linear in the parameters
                for i, column in enumerate(columns):
                    last = i + 1 == len(columns)
                    curve = torch.autograd.grad(
                        flat, parameters, grad_outputs=column, retain_graph=not last, materialize_grads=True
                    )
                    total[:, i] += torch.cat([part.reshape(-1) for part in curve])
        return total.reshape(v.shape)

    def mean_loss(self) -> float:
        """L at the network's present parameters."""
        with evaluating(self.network), torch.no_grad():
            batches = zip(self.x.split(self.batch), self.y.split(self.batch), strict=True)
            return sum(float(self.loss(self.network, x, y)) * len(x) for x, y in batches) / len(self.x)

    def dense(self) -> Tensor:
        """H as a matrix: for small networks and for tests."""
        dtype = next(iter(self.parameters.values())).dtype
        return self.product(torch.eye(self.size, dtype=dtype))

    def operator(self) -> scipy.sparse.linalg.LinearOperator:
        """H for SciPy, in double precision outside and the network's precision inside."""

        def matvec(v: NDArray[np.float64]) -> NDArray[np.float64]:
            return self.product(torch.from_numpy(np.ascontiguousarray(v).reshape(-1))).double().cpu().numpy()

        return scipy.sparse.linalg.LinearOperator((self.size, self.size), matvec=matvec, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Eigenpairs:
    """Eigenvalues in falling order, (count,), with unit eigenvectors as columns, (size, count)."""

    values: Tensor
    vectors: Tensor


@dataclass(frozen=True, kw_only=True)
class Trace:
    """tr H with its standard error, from ``probes`` random vectors."""

    value: float
    standard_error: float
    probes: int


def top_eigenpairs(H: Hessian, count: int = 5, *, tolerance: float = 1e-6, seed: int = 0) -> Eigenpairs:
    """The ``count`` largest eigenvalues of H (algebraically) and their eigenvectors.

    >>> network = nn.Linear(2, 1, bias=False)
    >>> x, y = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(2, 1)
    >>> H = Hessian(network, x, y, loss=lambda net, x, y: (net(x) - y).square().mean())
    >>> round(float(top_eigenpairs(H, 1).values[0]), 6)
    4.0
    """
    return _extreme(H, count, "LA", tolerance, seed)


def bottom_eigenpairs(H: Hessian, count: int = 5, *, tolerance: float = 1e-6, seed: int = 0) -> Eigenpairs:
    """The ``count`` smallest eigenvalues of H, the most negative last, and their eigenvectors."""
    return _extreme(H, count, "SA", tolerance, seed)


def hutchinson_trace(H: Hessian, probes: int = 64, *, seed: int = 0) -> Trace:
    """(1/m) sum_i w_i^T H w_i, w_i random signs: unbiased, with the standard error of a mean.

    >>> H = Hessian(nn.Linear(1, 1), torch.ones(4, 1), torch.zeros(4, 1), loss=lambda net, x, y: net(x).mean())
    >>> hutchinson_trace(H, 4)
    Trace(value=0.0, standard_error=0.0, probes=4)
    """
    signs = _signs(H.size, probes, seed)
    return _trace((signs * H.product(signs).double()).sum(0))


def xtrace(H: Hessian, probes: int = 32, *, seed: int = 0) -> Trace:
    """tr(Q_i^T H Q_i) + r_i^T H r_i averaged over i, Q_i an orthonormal basis of H on the other probes.

    It takes 2 ``probes`` products. The standard error treats the leave-one-out estimates as independent, as its authors
    advise; with few probes that is optimistic, by about a half at ten.
    """
    if probes > H.size:
        raise ValueError(
            f"{H.size} parameters have an exact trace from as many probes, got probes={probes}; use fewer."
        )
    signs = _signs(H.size, probes, seed)
    Y = H.product(signs).double()
    Q, R = torch.linalg.qr(Y)
    # Leaving probe i out of the basis takes the direction s_i = R^-T e_i, normalised, out of the span of Q.
    S = torch.linalg.pinv(R).mT
    S = S / S.norm(dim=0).clamp(min=torch.finfo(S.dtype).tiny)
    middle = Q.mT @ H.product(Q).double()
    W = Q.mT @ signs
    G = W - S * (S * W).sum(0)
    inside = middle.trace() - (S * (middle @ S)).sum(0)
    outside = (signs * Y).sum(0) - 2 * (G * R).sum(0) + (G * (middle @ G)).sum(0)
    return _trace(inside + outside)


def chosen_parameters(network: nn.Module, names: Sequence[str] | None) -> dict[str, nn.Parameter]:
    """Parameters that ask for a gradient, by name; ``names`` keeps those named, or below a submodule named.

    >>> list(chosen_parameters(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)), ["1", "0.bias"]))
    ['0.bias', '1.weight', '1.bias']
    """
    learned = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    for wanted in names or ():
        if not any(name == wanted or name.startswith(wanted + ".") for name in learned):
            raise ValueError(f"No parameter or submodule {wanted!r} asks for a gradient; choose from {list(learned)}.")
    if names is not None:
        learned = {
            name: parameter
            for name, parameter in learned.items()
            if any(name == wanted or name.startswith(wanted + ".") for wanted in names)
        }
    if not learned:
        raise ValueError("No parameter asks for a gradient; call requires_grad_() on those meant.")
    return learned


def _extreme(H: Hessian, count: int, end: str, tolerance: float, seed: int) -> Eigenpairs:
    if not 1 <= count <= H.size:
        raise ValueError(f"A Hessian of {H.size} parameters has that many eigenvalues; got count={count}.")
    if H.size <= 2 * count + 1:  # ARPACK needs room beyond what it is asked for
        values, vectors = np.linalg.eigh(H.dense().double().cpu().numpy())
        keep = slice(-count, None) if end == "LA" else slice(count)
        values, vectors = values[keep], vectors[:, keep]
    else:
        start = np.random.default_rng(seed).standard_normal(H.size)
        values, vectors = scipy.sparse.linalg.eigsh(H.operator(), k=count, which=end, tol=tolerance, v0=start)
    order = np.argsort(values)[::-1].copy()
    return Eigenpairs(values=torch.from_numpy(values[order]), vectors=torch.from_numpy(vectors[:, order]))


def _signs(size: int, probes: int, seed: int) -> Tensor:
    if probes < 2:
        raise ValueError(f"A standard error needs at least 2 probes, got {probes}.")
    random = torch.randint(0, 2, (size, probes), generator=torch.Generator().manual_seed(seed))
    return (2 * random - 1).double()


def _trace(estimates: Tensor) -> Trace:
    error = float(estimates.std()) / len(estimates) ** 0.5
    return Trace(value=float(estimates.mean()), standard_error=error, probes=len(estimates))
