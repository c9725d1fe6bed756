"""The contenders: each makes, for a case, a training step and a forward pass of one recurrent network.

All train the same task: T steps of inputs, the loss is the mean square of the last state. Noise is on where a case has
it and a contender can; peers that lack the noisy RNN run what they have, and their names say so.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from noisyrnn.bench.case import BUILDING, EAGER, JAX, KERNEL, PLAIN, RNN, Case, Model
from noisyrnn.models import CertifiedRNN, CoRNN, ExpRNN, LipschitzRNN, NoisyRNN
from noisyrnn.models.certified_cell import CertifiedCell
from noisyrnn.rnn import Layer, Route, SDECell

DT, ADDITIVE, MULTIPLICATIVE = 0.01, 0.05, 0.02


class Work(NamedTuple):
    """What is timed: a training step (forward, backward) and a forward pass without gradients."""

    train: Callable[[], Any]
    forward: Callable[[], Any]


def _work_of(layer: nn.Module, case: Case, **call: Any) -> Work:
    kind = torch.float64 if case.double else torch.float32
    x = torch.rand(case.steps, case.batch, case.inputs, generator=torch.Generator().manual_seed(0)).to(kind)
    layer = layer.to(kind)
    parameters = list(layer.parameters())

    def last() -> Tensor:
        shown, state = layer(x, **call)
        if call.get("mean"):
            return shown
        return state[0] if isinstance(state, tuple) else state

    def train() -> None:
        torch.autograd.grad(last().square().mean(), parameters, allow_unused=True)

    def forward() -> None:
        with torch.no_grad():
            last()

    return Work(train, forward)


def _layer(case: Case) -> Layer:
    if case.model is Model.CORNN:
        return CoRNN(case.inputs, case.hidden, bidirectional=case.bidirectional)
    if case.model is Model.EXPRNN:
        return ExpRNN(case.inputs, case.hidden, bidirectional=case.bidirectional)
    if case.model is Model.CERTIFIED:
        return CertifiedRNN(case.inputs, case.hidden, outputs=case.hidden // 2, bidirectional=case.bidirectional)
    noisy = case.model is Model.NOISY
    return NoisyRNN(
        case.inputs, case.hidden, additive=ADDITIVE if noisy else 0.0, multiplicative=MULTIPLICATIVE if noisy else 0.0,
        dt=DT, bidirectional=case.bidirectional,
    )  # fmt: skip


def ours(route: Route) -> Callable[[Case], Work]:
    """This library's network, noise in the released convention, by one route.

    Only the last state is asked for; of the certified RNN, the mean of its outputs.
    """

    def work(case: Case) -> Work:
        mean = case.model is Model.CERTIFIED
        return _work_of(_layer(case), case, route=route, outputs=False, mean=mean, chunk=case.chunk)

    return work


def building(case: Case) -> Work:
    """The part of the certified RNN's step that does not depend on its inputs: K from free parameters, and back."""
    if case.model is not Model.CERTIFIED:
        raise ValueError("only the certified RNN builds K")
    cells = [cast(CertifiedCell, cell) for cell in _layer(case).cells]
    gradients = [torch.randn_like(cell.matrix()) for cell in cells]
    free = [cell.orthogonal.A for cell in cells]

    def train() -> None:
        torch.autograd.grad([cell.matrix() for cell in cells], free, gradients)

    def forward() -> None:
        with torch.no_grad():
            for cell in cells:
                cell.matrix()

    return Work(train, forward)


@contextmanager
def _kernel_off() -> Iterator[None]:
    before = os.environ.get("NOISYRNN_NATIVE")
    os.environ["NOISYRNN_NATIVE"] = "0"
    try:
        yield
    finally:
        del os.environ["NOISYRNN_NATIVE"]
        if before is not None:
            os.environ["NOISYRNN_NATIVE"] = before


def without_kernel(case: Case) -> Work:
    """What runs where nothing was compiled: the eager route, its noise drawn by torch's own operations."""
    work = ours(Route.AUTO)(case)

    def off(action: Callable[[], Any]) -> Callable[[], None]:
        def done() -> None:
            with _kernel_off():
                action()

        return done

    return Work(off(work.train), off(work.forward))


class PlainLoop(nn.Module):
    """The noisy RNN as one would first write it, and as its authors did: two products and two draws per step."""

    def __init__(self, hidden: int, inputs: int = 1, *, noisy: bool = True) -> None:
        super().__init__()
        self.noisy = noisy
        self.B, self.C = (nn.Parameter(torch.randn(hidden, hidden) * 0.1 / hidden) for _ in range(2))
        self.d = nn.Parameter(torch.full((hidden,), DT))
        self.encoder = nn.Linear(inputs, hidden)

    def forward(self, x: Tensor) -> tuple[None, Tensor]:
        eye, alpha, beta, gamma = torch.eye(self.B.shape[0], dtype=x.dtype), 1.0, 0.75, 1e-3
        h = x.new_zeros(x.shape[1], self.B.shape[0])
        for step in range(x.shape[0]):
            if step == 0:
                A = beta * (self.B - self.B.T) + (1 - beta) * (self.B + self.B.T) - gamma * eye
                W = beta * (self.C - self.C.T) + (1 - beta) * (self.C + self.C.T) - gamma * eye
            drift = alpha * torch.matmul(h, A) + torch.tanh(torch.matmul(h, W) + self.encoder(x[step]))
            if self.noisy:
                factor = (1 - MULTIPLICATIVE) + MULTIPLICATIVE * torch.rand_like(h)
                h = h + self.d * factor * drift + ADDITIVE * torch.randn_like(h)
            else:
                h = h + self.d * drift
        return None, h


class BothWays(nn.Module):
    """Two loops, one of which reads its sequence backwards."""

    def __init__(self, one: nn.Module, other: nn.Module) -> None:
        super().__init__()
        self.one, self.other = one, other

    def forward(self, x: Tensor) -> tuple[None, Tensor]:
        return None, torch.stack((self.one(x)[1], self.other(x.flip(0))[1]))


def plain_loop(case: Case) -> Work:
    """The noisy RNN as above; of another model, this library's reference, which is a plain loop, too."""
    if case.model in (Model.CORNN, Model.EXPRNN, Model.CERTIFIED):
        return ours(Route.SCAN)(case)
    loops = [
        PlainLoop(case.hidden, case.inputs, noisy=case.model is Model.NOISY) for _ in range(1 + case.bidirectional)
    ]
    return _work_of(BothWays(*loops) if case.bidirectional else loops[0], case)


def classic(kind: type[nn.RNN | nn.GRU | nn.LSTM]) -> Callable[[Case], Work]:
    """A recurrence of torch itself."""
    return lambda case: _work_of(kind(case.inputs, case.hidden, bidirectional=case.bidirectional), case)


def torchrecurrent_antisymmetric(case: Case) -> Work:
    """torchrecurrent's antisymmetric RNN: its releases have no Lipschitz or noisy RNN; half the matrix products."""
    from torchrecurrent import AntisymmetricRNN

    return _work_of(AntisymmetricRNN(case.inputs, case.hidden), case)


def torchsde_euler(case: Case) -> Work:
    """torchsde's Euler-Maruyama on the printed equation, with the Brownian motion prepared for the step size."""
    import torchsde

    cell = cast(SDECell, LipschitzRNN(case.inputs, case.hidden).cells[0])
    x = torch.rand(case.steps, case.batch, case.inputs)
    end = case.steps * DT

    class System(nn.Module):
        sde_type, noise_type = "ito", "diagonal"

        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def prepare(self) -> None:
            self.built = cell.built(noisy=False).sde.drift
            self.drive = self.built.encode(x)

        def f(self, t: Tensor, h: Tensor) -> Tensor:
            return self.built(h, self.drive[min(int(float(t) / DT + 0.5), case.steps - 1)])

        def g(self, t: Tensor, h: Tensor) -> Tensor:
            return 0.2 + 0.02 * self.f(t, h)

    system = System()
    parameters = list(system.parameters())
    start = torch.zeros(case.batch, case.hidden)

    def last() -> Tensor:
        system.prepare()
        path = torchsde.BrownianInterval(0.0, end, size=(case.batch, case.hidden), dt=DT)
        return torchsde.sdeint(system, start, torch.tensor([0.0, end]), bm=path, method="euler", dt=DT)[-1]

    def train() -> None:
        torch.autograd.grad(last().square().mean(), parameters)

    def forward() -> None:
        with torch.no_grad():
            last()

    return Work(train, forward)


def jax_scan(case: Case) -> Work:
    """``jax.lax.scan`` of the noisy RNN, jitted, noise drawn inside."""
    if case.bidirectional:
        raise ValueError("written for one direction, left out")
    import jax
    import jax.numpy as jnp

    n, bound = case.hidden, 0.1 / case.hidden
    keys = jax.random.split(jax.random.key(0), 4)
    weights = {
        "B": bound * jax.random.normal(keys[0], (n, n)),
        "C": bound * jax.random.normal(keys[1], (n, n)),
        "U": jax.random.uniform(keys[2], (case.inputs, n), minval=-1),
        "b": jax.random.uniform(keys[3], (n,), minval=-1),
        "d": jnp.full((n,), DT),
    }
    x = jax.random.uniform(jax.random.key(1), (case.steps, case.batch, case.inputs))

    def loss(weights: Any, key: Any) -> Any:
        eye = jnp.eye(n)
        A = 0.5 * weights["B"].T * -1 + weights["B"] - 1e-3 * eye
        W = 0.5 * weights["C"].T * -1 + weights["C"] - 1e-3 * eye

        def step(h: Any, inputs: Any) -> Any:
            now, key = inputs
            one, two = jax.random.split(key)
            drift = h @ A + jnp.tanh(h @ W + now @ weights["U"] + weights["b"])
            factor = 1 - MULTIPLICATIVE + MULTIPLICATIVE * jax.random.uniform(one, h.shape)
            return h + weights["d"] * factor * drift + ADDITIVE * jax.random.normal(two, h.shape), None

        start = jnp.zeros((case.batch, n))
        last, _ = jax.lax.scan(step, start, (x, jax.random.split(key, case.steps)))
        return jnp.mean(last**2)

    gradient, value, key = jax.jit(jax.grad(loss)), jax.jit(loss), jax.random.key(2)
    return Work(
        lambda: jax.block_until_ready(gradient(weights, key)), lambda: jax.block_until_ready(value(weights, key))
    )


CONTENDERS: dict[str, tuple[Callable[[Case], Work], str | None]] = {
    KERNEL: (ours(Route.NATIVE), None),
    EAGER: (without_kernel, None),
    PLAIN: (plain_loop, None),
    BUILDING: (building, None),
    JAX: (jax_scan, "jax"),
    RNN: (classic(nn.RNN), None),
    "torch.nn.GRU": (classic(nn.GRU), None),
    "torch.nn.LSTM": (classic(nn.LSTM), None),
    "torchrecurrent antisymmetric": (torchrecurrent_antisymmetric, "torchrecurrent"),
    "torchsde Euler": (torchsde_euler, "torchsde"),
}

REASONS = {
    RNN: "does half the matrix products and draws no noise",
    "torch.nn.GRU": "draws no noise, and takes its three products at once",
    "torch.nn.LSTM": "draws no noise, and takes its four products at once",
    "torchrecurrent antisymmetric": "does half the matrix products and draws no noise",
    JAX: "compiles the whole loop, so that nothing is done between the steps of few, small sequences",
    PLAIN: "leaves its products to a library that cuts large matrices into blocks",
    EAGER: "leaves its products to a library that cuts large matrices into blocks",
}
"""Why a contender can be faster than the kernel where it is."""


def present(name: str) -> bool:
    """Whether a contender's package is installed."""
    package = CONTENDERS[name][1]
    return package is None or importlib.util.find_spec(package) is not None
