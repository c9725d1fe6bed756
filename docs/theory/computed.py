"""What both the numbers and the figures of README.md are made from, computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import torch
from torch import Tensor

from noisyrnn import theory
from noisyrnn.evaluate_margins import compared
from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    CommonNoise,
    DriftNoise,
    StateNoise,
    TanhDrift,
    euler_maruyama,
    milstein,
    tamed,
    tamed_as_printed,
)
from noisyrnn.theory import demonstrations
from noisyrnn.theory.convergence import Order, strong_order
from noisyrnn.theory.problems import random_problem, reference

CERTIFICATES = {
    "global": theory.global_certificate,
    "ball": theory.ball_certificate,
    "adjoint": theory.adjoint_certificate,
}


def share_of_Q(steps: int) -> float:
    """Q / R on the interval [0, 3], cut into ``steps``."""
    P = reference(additive=1.0, steps=steps, label=0)
    time = torch.arange(steps, dtype=torch.float64)[:, None] * 3 / steps
    x = torch.sin(5 * time + torch.arange(1, 3)).unsqueeze(0)
    network = replace(P.network, dt=3 / steps, V=4 * P.network.V)
    found = theory.regulariser(network, x, network.cross_entropy(P.y))
    return float((found.total - found.R) / found.R)


@cache
def tightness() -> dict[str, tuple[Tensor, Tensor]]:
    """Certified and attacked radii over four random networks."""
    pairs: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in CERTIFICATES}
    for seed in range(4):
        P = random_problem(torch.Generator().manual_seed(seed), units=5, steps=10, samples=25, dt=0.15)
        radii = {name: method(P.network, P.x, P.y).radius for name, method in CERTIFICATES.items()}
        found = compared(P.network.logits, P.x, P.y, radii, generator=torch.Generator().manual_seed(0))
        for name in CERTIFICATES:
            pairs[name].append((radii[name], found.attacked))
    return {name: (torch.cat([r for r, _ in some]), torch.cat([a for _, a in some])) for name, some in pairs.items()}


@cache
def antisymmetric() -> demonstrations.Demonstration:
    return demonstrations.antisymmetric_network(steps=500, samples=256, dt=0.008)


@cache
def provable() -> demonstrations.Demonstration:
    return demonstrations.provable_network(steps=200, samples=128, dt=0.02)


@cache
def chaotic() -> list[demonstrations.Demonstration]:
    kinds: dict[str, Callable[[Tensor], CommonNoise | StateNoise | DriftNoise]] = {
        "common noise s h dB": CommonNoise,
        "state noise s diag(h) dB": StateNoise,
        "paper's noise s diag(f) dB": lambda s: DriftNoise(multiplicative=s),
    }
    return [
        demonstrations.chaotic_network(noise, strengths=(0.0, 0.5, 1.0), steps=600, samples=256, dt=0.02, title=title)
        for title, noise in kinds.items()
    ]


@cache
def orders() -> tuple[Order, ...]:
    one = torch.ones(1, 1, dtype=torch.float64)
    line, s = TanhDrift(-0.5 * one, 0 * one, 0 * one, 0 * one[0]), torch.tensor(0.8, dtype=torch.float64)

    def grown(times: Tensor, brownian: Tensor) -> Tensor:
        return torch.exp((-0.5 - 0.32) * times[-1] + 0.8 * brownian[-1])

    def reverted(times: Tensor, brownian: Tensor) -> Tensor:
        weights = torch.exp(-0.5 * (times[-1] - (times[1:] + times[:-1]) / 2))
        return torch.exp(-0.5 * times[-1]) + 0.8 * (weights[:, None, None] * brownian.diff(dim=0)).sum(0)

    tried = partial(strong_order, h0=one[0], steps=(16, 32, 64), paths=400)
    common = partial(tried, SDE(line, StateNoise(s)), exact=grown, refinement=1)
    additive = partial(tried, SDE(line, AdditiveNoise(s)))
    found = {
        "Euler-Maruyama, noise s h": common(euler_maruyama),
        "Milstein, noise s h": common(milstein),
        "Euler-Maruyama, additive noise": additive(euler_maruyama, refinement=32),
        "tamed, additive noise": additive(tamed, refinement=32),
        "tamed as printed, additive noise": additive(tamed_as_printed(0.5, 1.0), exact=reverted),
    }
    return tuple(replace(order, label=label) for label, order in found.items())
