"""Every number that README.md quotes, by its key and section by section."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import torch
from computed import CERTIFICATES, antisymmetric, chaotic, orders, provable, share_of_Q, tightness

from noisyrnn import theory
from noisyrnn.evaluate_margins import ATTACK, compared
from noisyrnn.sde import SDE, DriftNoise
from noisyrnn.theory import demonstrations, oracles
from noisyrnn.theory.problems import geometric_brownian_motion, reference, two_classes

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
    assert shown.truth is not None
    yield "anti.exact", f"{float(shown.truth[4]):.4f}"
    yield "anti.estimate", f"{float(shown.estimates[4]):.2f} ± {float(shown.errors[4]):.2f}"
    proved = provable()
    for place, name in ((0, "quiet"), (-1, "loud")):
        yield f"proved.{name}", f"[{float(proved.lower[place]):.2f}, {float(proved.upper[place]):.2f}]"
        yield f"proved.{name}.estimate", f"{float(proved.estimates[place]):.2f}"
    for shown in chaotic():
        name = shown.title.split(" ")[0].removesuffix("'s")
        yield f"chaos.{name}", f"{float(shown.estimates[-1]):.2f} ± {float(shown.errors[-1]):.2f}"
    yield "chaos.quiet", f"{float(shown.estimates[0]):.2f}"


def convergence() -> Numbers:
    for name, order in zip(("euler", "milstein", "additive", "tamed", "stalled"), orders(), strict=True):
        yield f"order.{name}", f"{order.order:.2f} ± {order.standard_error:.2f}"
    yield "stalled.error", f"{orders()[-1].errors[-1]:.2f}"


SECTIONS = (regulariser, continuum, margin, generalisation, lyapunov, convergence)
