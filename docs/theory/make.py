"""Compute every number that README.md quotes and draw its figures.

    python docs/theory/make.py            rewrite the numbers between their markers, and the figures
    python docs/theory/make.py --check    fail if a quoted number is stale; draw nothing

A number stands in the page as <!--n:key-->0.5<!--/n-->. Draws come from fixed keys, so that a number is the same at
every run; estimates are quoted with as many digits as their standard errors allow.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor

from noisyrnn import theory
from noisyrnn.cli.theory.answer import draw
from noisyrnn.evaluate_margins import ATTACK, compared
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
from noisyrnn.theory import demonstrations, oracles
from noisyrnn.theory.convergence import Order, order_figure, strong_order
from noisyrnn.theory.problems import geometric_brownian_motion, random_problem, reference, two_classes

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
MARK = re.compile(r"<!--n:([\w.-]+)-->(.*?)<!--/n-->")

Numbers = Iterator[tuple[str, str]]


def regulariser() -> Numbers:
    P = reference(additive=0.4, multiplicative=0.6)
    found = theory.regulariser(P.network, P.x, P.loss)
    exact = float(theory.regulariser_by_autodiff(P.network, P.x, P.loss))
    yield "Q", f"{float(found.total - found.R):.6f}"
    yield "Q.printed", f"{float(theory.Q_as_printed(P.network, P.x, P.loss)):.6f}"
    yield "R", f"{float(found.R):.6f}"
    yield "laplacian", f"{exact:.6f}"
    yield "laplacian.off", "1e-15" if abs(exact - float(found.total)) < 1e-15 else "more than 1e-15"
    for steps in (30, 120, 480):
        yield f"share.{steps}", f"{share_of_Q(steps):.3f}"


def share_of_Q(steps: int) -> float:
    """Q / R on the interval [0, 3], cut into ``steps``."""
    P = reference(additive=1.0, steps=steps, label=0)
    time = torch.arange(steps, dtype=torch.float64)[:, None] * 3 / steps
    x = torch.sin(5 * time + torch.arange(1, 3)).unsqueeze(0)
    network = replace(P.network, dt=3 / steps, V=4 * P.network.V)
    found = theory.regulariser(network, x, network.cross_entropy(P.y))
    return float((found.total - found.R) / found.R)


def continuum() -> Numbers:
    sde, start = geometric_brownian_motion(0.3, 0.8), torch.full((1, 1), 1.2, dtype=torch.float64)
    for name, loss in {"mean": lambda h: h.sum(), "square": lambda h: h.square().sum()}.items():
        own = theory.OwnLoss(loss)
        right = theory.continuous_regulariser(sde, own, start, T=1.5, steps=64)
        printed = theory.continuous_regulariser_as_printed(sde, own, start, T=1.5, steps=64)
        yield f"ito.{name}", f"{float(right.total):.4f}"
        yield f"ito.{name}.printed", f"{float(printed.total):.4f}"


def margin() -> Numbers:
    P = two_classes()
    score = float(theory.score(P.network.logits(P.x), P.y))
    steepest = float(theory.input_stability(P.network, P.x).jacobian) / 2
    yield "two.proposition", f"{score / steepest:.4f}"
    yield "two.halved", f"{score / steepest / 2:.4f}"
    suprema = theory.sampled_suprema(P.network, P.x)
    yield "two.gamma", f"{float(theory.margin_as_printed(P.network, P.x, P.y, suprema)):.4f}"
    P = reference(label=2)
    suprema = theory.sampled_suprema(P.network, P.x)
    yield "ref.gamma", f"{float(theory.margin_as_printed(P.network, P.x, P.y, suprema)):.3f}"
    yield "ref.logit", f"{float(theory.logit_margin(P.network, P.x, P.y, suprema)):.3f}"
    yield "ref.first", f"{float(theory.first_order_distance(P.network, P.x, P.y)):.3f}"
    certified = {name: method(P.network, P.x, P.y).radius for name, method in CERTIFICATES.items()}
    patient = ATTACK.model_copy(update={"steps": 100})
    attacked = compared(
        P.network.logits, P.x, P.y, certified, generator=torch.Generator().manual_seed(0), attack=patient
    )
    yield "ref.attacked", f"{float(attacked.attacked):.2f}"
    for name, radius in certified.items():
        yield f"ref.{name}", f"{float(radius):.3f}"
    for name, (radii, attacks) in tightness().items():
        yield f"tight.{name}", f"{float((radii / attacks).mean()):.2f}"
        yield f"tight.{name}.most", f"{float((radii / attacks).max()):.2f}"
    yield "tight.pairs", str(len(attacks))
    yield "tight.violations", str(sum(int((r > a).sum()) for r, a in tightness().values()))


CERTIFICATES = {
    "global": theory.global_certificate,
    "ball": theory.ball_certificate,
    "adjoint": theory.adjoint_certificate,
}


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


def generalisation() -> Numbers:
    for k in (2, 10):
        bound = theory.generalisation_bound(
            margin=0.1, dimension=k, complexity=1.0, classes=10, samples=60000, delta=0.01
        )
        yield f"bound.{k}", f"{bound.bound:.4g}"
        yield f"bound.{k}.printed", f"{bound.as_printed:.4g}"


def lyapunov() -> Numbers:
    yield "gbm", f"{oracles.gbm_exponent(0.5, 1.5):.3f}"
    yield "gbm.moment", f"{oracles.gbm_moment_exponent(0.5, 1.5, p=2):.2f}"
    sde = SDE(demonstrations.antisymmetric_drift(), DriftNoise(multiplicative=torch.tensor(1.0, dtype=torch.float64)))
    with warnings.catch_warnings(action="ignore"):
        yield "anti.printed", f"{theory.exponent_interval_as_printed(sde).hi:.3f}"
    interval = theory.exponent_interval(sde)
    yield "anti.interval", f"[{interval.lo:.2f}, {interval.hi:.2f}]"
    shown = antisymmetric()
    yield "anti.exact", f"{float(shown.truth[4]):.4f}"  # type: ignore[index]
    yield "anti.estimate", f"{float(shown.estimates[4]):.2f} ± {float(shown.errors[4]):.2f}"
    proved = provable()
    for place, name in ((0, "quiet"), (-1, "loud")):
        yield f"proved.{name}", f"[{float(proved.lower[place]):.2f}, {float(proved.upper[place]):.2f}]"
        yield f"proved.{name}.estimate", f"{float(proved.estimates[place]):.2f}"
    for shown in chaotic():
        name = shown.title.split(" ")[0].removesuffix("'s")
        yield f"chaos.{name}", f"{float(shown.estimates[-1]):.2f} ± {float(shown.errors[-1]):.2f}"
    yield "chaos.quiet", f"{float(shown.estimates[0]):.2f}"


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

    additive = {"sde": SDE(line, AdditiveNoise(s)), "refinement": 32}
    common = {"sde": SDE(line, StateNoise(s)), "exact": grown, "refinement": 1}
    tried = {
        "Euler-Maruyama, noise s h": {**common, "scheme": euler_maruyama},
        "Milstein, noise s h": {**common, "scheme": milstein},
        "Euler-Maruyama, additive noise": {**additive, "scheme": euler_maruyama},
        "tamed, additive noise": {**additive, "scheme": tamed},
    }
    found = [
        replace(strong_order(h0=one[0], steps=(16, 32, 64), paths=400, **how), label=label)  # type: ignore[arg-type]
        for label, how in tried.items()
    ]

    def reverted(times: Tensor, brownian: Tensor) -> Tensor:
        weights = torch.exp(-0.5 * (times[-1] - (times[1:] + times[:-1]) / 2))
        return torch.exp(-0.5 * times[-1]) + 0.8 * (weights[:, None, None] * brownian.diff(dim=0)).sum(0)

    stalled = strong_order(
        SDE(line, AdditiveNoise(s)),
        tamed_as_printed(0.5, 1.0),
        h0=one[0],
        steps=(16, 32, 64),
        paths=400,
        exact=reverted,
    )
    return (*found, replace(stalled, label="tamed as printed, additive noise"))


def convergence() -> Numbers:
    for name, order in zip(("euler", "milstein", "additive", "tamed", "stalled"), orders(), strict=True):
        yield f"order.{name}", f"{order.order:.2f} ± {order.standard_error:.2f}"
    yield "stalled.error", f"{orders()[-1].errors[-1]:.2f}"


def share_figure() -> Figure:
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    steps = [30, 60, 120, 240, 480]
    axes.plot(steps, [share_of_Q(count) for count in steps], "o-", markersize=4)
    axes.axhline(0, color="tab:red", linestyle="--", linewidth=1.2, label="limit, if |Q| ≤ C dt² and |R| ≤ C dt held")
    axes.set(xscale="log", xlabel="steps on the interval [0, 3]", ylabel="Q / R", xticks=steps, ylim=(-0.9, 0.1))
    axes.set_xticklabels(map(str, steps))
    axes.minorticks_off()
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure


def tightness_figure() -> Figure:
    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for (name, (radii, attacked)), marker in zip(tightness().items(), "^so", strict=True):
        axes.loglog(attacked, radii, marker, markersize=3, alpha=0.7, label=name)
    ends = [float(attacked.min()) / 1.5, float(attacked.max()) * 1.5]
    axes.plot(ends, ends, color="black", linewidth=1, label="no certificate may lie above")
    axes.set(xlabel="radius of the nearest wrong answer found", ylabel="certified radius")
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "share": share_figure,
    "tightness": tightness_figure,
    "stabilised": lambda: demonstrations.exponent_figure(provable()),
    "destabilised": lambda: demonstrations.exponent_figure(antisymmetric()),
    "chaotic": lambda: demonstrations.comparison_figure(chaotic(), title="Chaotic network under three kinds of noise"),
    "orders": lambda: order_figure(orders()),
}
SECTIONS = (regulariser, continuum, margin, generalisation, lyapunov, convergence)


def main() -> None:
    page = PAGE.read_text()
    numbers = {key: value for section in SECTIONS for key, value in section()}
    quoted = dict(MARK.findall(page))
    if unknown := quoted.keys() - numbers.keys():
        sys.exit(f"{PAGE.name} quotes numbers that make.py does not compute: {', '.join(sorted(unknown))}.")
    if "--check" in sys.argv[1:]:
        stale = [f"{key} is {numbers[key]}, quoted as {old}" for key, old in quoted.items() if numbers[key] != old]
        sys.exit(f"Stale; run docs/theory/make.py: {'; '.join(stale)}." if stale else 0)
    PAGE.write_text(MARK.sub(lambda found: f"<!--n:{found[1]}-->{numbers[found[1]]}<!--/n-->", page))
    for name, figure in FIGURES.items():
        draw(figure(), HERE / f"{name}.svg")


if __name__ == "__main__":
    main()
