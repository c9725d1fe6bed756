"""The contenders: each makes, for a problem size, a training step and a forward pass of one noisy recurrent network.

All train the same task: T steps of one input each, the loss is the mean square of the last state. Noise is on in
training where a contender has any. Peers that lack the noisy RNN run what they have; their names say so.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from noisyrnn.models import LipschitzRNN, NoisyRNN
from noisyrnn.rnn import Route, SDECell

DT, ADDITIVE, MULTIPLICATIVE = 0.01, 0.05, 0.02


class Problem(NamedTuple):
    """Size of the work."""

    steps: int
    hidden: int
    batch: int

    @property
    def flops(self) -> float:
        """Operations of a training step: two n x n products forward, and twice that backward."""
        return 3.0 * 2 * self.batch * self.steps * self.hidden * 2 * self.hidden


class Work(NamedTuple):
    """What is timed: a training step (forward, backward) and a forward pass without gradients."""

    train: Callable[[], Any] | None
    forward: Callable[[], Any]


def _work_of(layer: nn.Module, problem: Problem, **call: Any) -> Work:
    x = torch.rand(problem.steps, problem.batch, 1, generator=torch.Generator().manual_seed(0))
    parameters = list(layer.parameters())

    def last() -> Tensor:
        _, state = layer(x, **call)
        return state[0] if isinstance(state, tuple) else state

    def train() -> None:
        torch.autograd.grad(last().square().mean(), parameters, allow_unused=True)

    def forward() -> None:
        with torch.no_grad():
            last()

    return Work(train, forward)


def ours(route: Route) -> Callable[[Problem], Work]:
    """This library's noisy RNN, in the released convention, by one route; only the last state is asked for."""

    def work(problem: Problem) -> Work:
        layer = NoisyRNN(1, problem.hidden, additive=ADDITIVE, multiplicative=MULTIPLICATIVE, dt=DT)
        return _work_of(layer, problem, route=route, outputs=False)

    return work


class PlainLoop(nn.Module):
    """The noisy RNN as one would first write it, and as its authors did: two products and two draws per step."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.B, self.C = (nn.Parameter(torch.randn(hidden, hidden) * 0.1 / hidden) for _ in range(2))
        self.d = nn.Parameter(torch.full((hidden,), DT))
        self.encoder = nn.Linear(1, hidden)

    def forward(self, x: Tensor) -> tuple[None, Tensor]:
        eye, alpha, beta, gamma = torch.eye(self.B.shape[0]), 1.0, 0.75, 1e-3
        h = x.new_zeros(x.shape[1], self.B.shape[0])
        for step in range(x.shape[0]):
            if step == 0:
                A = beta * (self.B - self.B.T) + (1 - beta) * (self.B + self.B.T) - gamma * eye
                W = beta * (self.C - self.C.T) + (1 - beta) * (self.C + self.C.T) - gamma * eye
            drift = alpha * torch.matmul(h, A) + torch.tanh(torch.matmul(h, W) + self.encoder(x[step]))
            factor = (1 - MULTIPLICATIVE) + MULTIPLICATIVE * torch.rand_like(h)
            h = h + self.d * factor * drift + ADDITIVE * torch.randn_like(h)
        return None, h


def plain_loop(problem: Problem) -> Work:
    return _work_of(PlainLoop(problem.hidden), problem)


def torch_rnn(problem: Problem) -> Work:
    return _work_of(nn.RNN(1, problem.hidden), problem)


def torch_lstm(problem: Problem) -> Work:
    return _work_of(nn.LSTM(1, problem.hidden), problem)


def torchrecurrent_antisymmetric(problem: Problem) -> Work:
    """torchrecurrent's antisymmetric RNN: its releases have no Lipschitz or noisy RNN; half the matrix products."""
    from torchrecurrent import AntisymmetricRNN

    return _work_of(AntisymmetricRNN(1, problem.hidden), problem)


def torchsde_euler(problem: Problem) -> Work:
    """torchsde's Euler-Maruyama on the printed equation, with the Brownian motion prepared for the step size."""
    import torchsde

    cell = cast(SDECell, LipschitzRNN(1, problem.hidden).cells[0])
    x = torch.rand(problem.steps, problem.batch, 1)
    end = problem.steps * DT

    class System(nn.Module):
        sde_type, noise_type = "ito", "diagonal"

        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def prepare(self) -> None:
            self.built = cell.built(noisy=False).sde.drift
            self.drive = self.built.encode(x)

        def f(self, t: Tensor, h: Tensor) -> Tensor:
            return self.built(h, self.drive[min(int(float(t) / DT + 0.5), problem.steps - 1)])

        def g(self, t: Tensor, h: Tensor) -> Tensor:
            return 0.2 + 0.02 * self.f(t, h)

    system = System()
    parameters = list(system.parameters())
    start = torch.zeros(problem.batch, problem.hidden)

    def last() -> Tensor:
        system.prepare()
        path = torchsde.BrownianInterval(0.0, end, size=(problem.batch, problem.hidden), dt=DT)
        return torchsde.sdeint(system, start, torch.tensor([0.0, end]), bm=path, method="euler", dt=DT)[-1]

    def train() -> None:
        torch.autograd.grad(last().square().mean(), parameters)

    def forward() -> None:
        with torch.no_grad():
            last()

    return Work(train, forward)


def jax_scan(problem: Problem) -> Work:
    """``jax.lax.scan`` of the noisy RNN, jitted, noise drawn inside."""
    import jax
    import jax.numpy as jnp

    n, bound = problem.hidden, 0.1 / problem.hidden
    keys = jax.random.split(jax.random.key(0), 4)
    weights = {
        "B": bound * jax.random.normal(keys[0], (n, n)),
        "C": bound * jax.random.normal(keys[1], (n, n)),
        "U": jax.random.uniform(keys[2], (n,), minval=-1),
        "b": jax.random.uniform(keys[3], (n,), minval=-1),
        "d": jnp.full((n,), DT),
    }
    x = jax.random.uniform(jax.random.key(1), (problem.steps, problem.batch, 1))

    def loss(weights: Any, key: Any) -> Any:
        eye = jnp.eye(n)
        A = 0.5 * weights["B"].T * -1 + weights["B"] - 1e-3 * eye
        W = 0.5 * weights["C"].T * -1 + weights["C"] - 1e-3 * eye

        def step(h: Any, inputs: Any) -> Any:
            now, key = inputs
            one, two = jax.random.split(key)
            drift = h @ A + jnp.tanh(h @ W + now * weights["U"] + weights["b"])
            factor = 1 - MULTIPLICATIVE + MULTIPLICATIVE * jax.random.uniform(one, h.shape)
            return h + weights["d"] * factor * drift + ADDITIVE * jax.random.normal(two, h.shape), None

        start = jnp.zeros((problem.batch, n))
        last, _ = jax.lax.scan(step, start, (x, jax.random.split(key, problem.steps)))
        return jnp.mean(last**2)

    gradient, value, key = jax.jit(jax.grad(loss)), jax.jit(loss), jax.random.key(2)
    return Work(
        lambda: jax.block_until_ready(gradient(weights, key)), lambda: jax.block_until_ready(value(weights, key))
    )


def sgemm_rate(side: int = 2048, repeats: int = 5) -> float:
    """Floating-point operations per second of a large matrix product: the practical limit."""
    import time

    a, b = torch.rand(side, side), torch.rand(side, side)
    torch.mm(a, b)
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * side**3 / best


CONTENDERS: dict[str, tuple[Callable[[Problem], Work], str | None]] = {
    "kernel": (ours(Route.NATIVE), None),
    "eager": (ours(Route.EAGER), None),
    "plain loop": (plain_loop, None),
    "jax.lax.scan": (jax_scan, "jax"),
    "torch.nn.RNN": (torch_rnn, None),
    "torch.nn.LSTM": (torch_lstm, None),
    "torchrecurrent antisymmetric": (torchrecurrent_antisymmetric, "torchrecurrent"),
    "torchsde Euler": (torchsde_euler, "torchsde"),
}


def present(name: str) -> bool:
    """Whether a contender's package is installed."""
    package = CONTENDERS[name][1]
    return package is None or importlib.util.find_spec(package) is not None
