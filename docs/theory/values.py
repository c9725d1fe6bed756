"""What the page on theory is made from: computations that its numbers and its figures share, and the numbers.

Draws come from fixed keys, so that a number is the same at every run; estimates are quoted with as many digits as their
standard errors allow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial

import torch
from torch import Tensor

from noisyrnn import theory
from noisyrnn.evaluate.margins import ATTACK, compared
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
from noisyrnn.theory.convergence import Order, strong_order
from noisyrnn.theory.known import (
    demonstrations,
    geometric_brownian_motion,
    oracles,
    random_example,
    reference,
    two_classes,
)
from noisyrnn.theory.known.demonstrations import Demonstration

Values = dict[str, object]

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
    V = P.network.V
    network = replace(P.network, dt=3 / steps, V=None if V is None else 4 * V)
    found = theory.regulariser(network, x, network.cross_entropy(P.y))
    return float((found.total - found.R) / found.R)


@cache
def tightness() -> dict[str, tuple[Tensor, Tensor]]:
    """Certified and attacked radii over four random networks."""
    pairs: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in CERTIFICATES}
    for seed in range(4):
        P = random_example(torch.Generator().manual_seed(seed), units=5, steps=10, samples=25, dt=0.15)
        radii = {name: method(P.network, P.x, P.y).radius for name, method in CERTIFICATES.items()}
        found = compared(P.network.logits, P.x, P.y, radii, generator=torch.Generator().manual_seed(0))
        for name in CERTIFICATES:
            pairs[name].append((radii[name], found.attacked))
    return {name: (torch.cat([r for r, _ in some]), torch.cat([a for _, a in some])) for name, some in pairs.items()}


@cache
def antisymmetric() -> Demonstration:
    return demonstrations.antisymmetric_network(steps=500, samples=256, dt=0.008)


@cache
def provable() -> Demonstration:
    return demonstrations.provable_network(steps=200, samples=128, dt=0.02)


@cache
def chaotic() -> list[Demonstration]:
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


def regulariser() -> Values:
    P = reference(additive=0.4, multiplicative=0.6)
    found = theory.regulariser(P.network, P.x, P.loss)
    exact = float(theory.regulariser_by_autodiff(P.network, P.x, P.loss))
    return {
        "Q": f"{float(found.total - found.R):.6f}",
        "Q_as_printed": f"{float(theory.Q_as_printed(P.network, P.x, P.loss)):.6f}",
        "R": f"{float(found.R):.6f}",
        "laplacian": f"{exact:.6f}",
        "agreement": "1e-15" if abs(exact - float(found.total)) < 1e-15 else "more than 1e-15",
        "share_of_Q": {steps: f"{share_of_Q(steps):.3f}" for steps in (30, 120, 480)},
    }


def continuous() -> Values:
    sde, start = geometric_brownian_motion(0.3, 0.8), torch.full((1, 1), 1.2, dtype=torch.float64)
    values: Values = {}
    for name, function in {"mean": lambda h: h.sum(), "square": lambda h: h.square().sum()}.items():
        loss = theory.OwnLoss(function)
        right = theory.continuous_regulariser(sde, loss, start, T=1.5, steps=64)
        printed = theory.continuous_regulariser_as_printed(sde, loss, start, T=1.5, steps=64)
        values[name] = f"{float(right.total):.4f}"
        values[f"{name}_as_printed"] = f"{float(printed.total):.4f}"
    return values


def margin() -> Values:
    one = two_classes()
    score = float(theory.score(one.network.logits(one.x), one.y))
    steepest = float(theory.input_stability(one.network, one.x).jacobian) / 2
    suprema = theory.sampled_suprema(one.network, one.x)
    P = reference(label=2)
    certified = {name: method(P.network, P.x, P.y).radius for name, method in CERTIFICATES.items()}
    patient = ATTACK.model_copy(update={"steps": 100})
    found = compared(P.network.logits, P.x, P.y, certified, generator=torch.Generator().manual_seed(0), attack=patient)
    there = theory.sampled_suprema(P.network, P.x)
    pairs = tightness()
    return {
        "two_classes": {
            "proposition": f"{score / steepest:.4f}",
            "halved": f"{score / steepest / 2:.4f}",
            "gamma": f"{float(theory.margin_as_printed(one.network, one.x, one.y, suprema)):.4f}",
        },
        "reference": {
            "gamma": f"{float(theory.margin_as_printed(P.network, P.x, P.y, there)):.3f}",
            "logit": f"{float(theory.logit_margin(P.network, P.x, P.y, there)):.3f}",
            "first_order": f"{float(theory.first_order_distance(P.network, P.x, P.y)):.3f}",
            "attacked": f"{float(found.attacked):.2f}",
            **{name: f"{float(radius):.3f}" for name, radius in certified.items()},
        },
        "tightness": {
            "samples": len(pairs["global"][0]),
            "violations": sum(int((radii > attacked).sum()) for radii, attacked in pairs.values()),
            **{name: f"{float((radii / attacked).mean()):.2f}" for name, (radii, attacked) in pairs.items()},
            "adjoint_at_most": f"{float((pairs['adjoint'][0] / pairs['adjoint'][1]).max()):.2f}",
        },
    }


def generalisation() -> Values:
    bound = partial(theory.generalisation_bound, margin=0.1, complexity=1.0, classes=10, samples=60000, delta=0.01)
    return {
        "plane": f"{bound(dimension=2).bound:.4g}",
        "plane_as_printed": f"{bound(dimension=2).as_printed:.4g}",
        "ten_dimensions": f"{bound(dimension=10).bound:.4g}",
    }


def stability() -> Values:
    sde = SDE(demonstrations.antisymmetric_drift(), DriftNoise(multiplicative=torch.tensor(1.0, dtype=torch.float64)))
    with warnings.catch_warnings(action="ignore"):  # the printed bound is quoted to be refuted
        printed = theory.exponent_interval_as_printed(sde).hi
    interval, refuted, proved = theory.exponent_interval(sde), antisymmetric(), provable()
    assert refuted.truth is not None
    return {
        "antisymmetric": {
            "as_printed": f"{printed:.3f}",
            "interval": f"[{interval.lo:.2f}, {interval.hi:.2f}]",
            "exact": f"{float(refuted.truth[4]):.4f}",
            "estimate": _estimate(refuted, 4),
        },
        "provable": {
            name: {
                "interval": f"[{float(proved.lower[place]):.2f}, {float(proved.upper[place]):.2f}]",
                "estimate": f"{float(proved.estimates[place]):.2f}",
            }
            for name, place in {"without": 0, "strongest": -1}.items()
        },
        "chaotic": {
            "without": f"{float(chaotic()[-1].estimates[0]):.2f}",
            **{shown.title.split(" ")[0].removesuffix("'s"): _estimate(shown, -1) for shown in chaotic()},
        },
        "gbm": f"{oracles.gbm_exponent(0.5, 1.5):.3f}",
        "gbm_second_moment": f"{oracles.gbm_moment_exponent(0.5, 1.5, p=2.0):.2f}",
    }


def convergence() -> Values:
    names = ("euler", "milstein", "additive", "tamed", "tamed_as_printed")
    found = dict(zip(names, orders(), strict=True))
    return {
        **{name: f"{order.order:.2f} ± {order.standard_error:.2f}" for name, order in found.items()},
        "remaining_error": f"{found['tamed_as_printed'].errors[-1]:.2f}",
    }


def _estimate(shown: Demonstration, place: int) -> str:
    return f"{float(shown.estimates[place]):.2f} ± {float(shown.errors[place]):.2f}"


def values() -> Mapping[str, Values]:
    """Every number of the page, by section and name, as it is printed there."""
    sections = (regulariser, continuous, margin, generalisation, stability, convergence)
    return {section.__name__: section() for section in sections}
