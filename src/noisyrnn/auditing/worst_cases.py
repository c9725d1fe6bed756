"""Attacks over radii, and signs that they were misled; in units of the spread of each channel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from noisyrnn.attack import Attack, Square, curve, signs, standard
from noisyrnn.auditing.budget import HEADLINE, Budget
from noisyrnn.auditing.examined import Examined
from noisyrnn.auditing.findings import AttackCurve, Attacked, Figure, MaskingSign
from noisyrnn.auditing.scores import Resamples
from noisyrnn.auditing.series import Series
from noisyrnn.perturb import Spread
from noisyrnn.randomness import stream

_SIGNED = 32  # samples on which signs of masked gradients are looked for
_BATCH = 128


def attack_curve(
    one: Examined, series: Series, y: NDArray[np.int64], spread: Spread, budget: Budget, seed: int
) -> Attacked:
    """Accuracy by radius: APGD and Square where there are gradients, else Square; ValueError where neither can be."""
    truth, gradients = torch.from_numpy(y), one.gradients()
    if gradients is None and not one.asked.probabilities:
        raise ValueError("it answers with classes only: there is nothing that a search could climb")
    search = one.scores(series)
    network = _in_units(gradients or search, spread, series)
    z = _to_units(series.x, spread)
    if gradients is None:
        attack: Attack = Square(radius=HEADLINE, queries=budget.queries, batch=_BATCH)
        method = f"Square, {budget.queries} queries"
        warned = _flat_probabilities(search(series.x), len(one.classes))
    else:
        attack = standard(HEADLINE, steps=budget.steps, queries=budget.queries, batch=_BATCH)
        method = f"APGD on two losses, {budget.steps} steps, then Square, {budget.queries} queries"
        warned = _signs(network, z, truth, series.lengths, budget, seed)
    found = curve(
        attack, network, z, truth, radii=(0.0, *budget.radii), generator=stream("audit", "attack", seed),
        lengths=series.lengths,
    )  # fmt: skip
    resamples = Resamples(len(y), seed)
    figures = [_figure(row.numpy(), resamples) for row in found.survives]
    told = AttackCurve(
        method=method,
        samples=len(y),
        radii=budget.radii,
        accuracy=tuple(figures[1:]),
        clean=figures[0].value,
        queries=attack.budget.forward,
    )
    return Attacked(curve=told, signs=warned)


def _figure(right: NDArray[np.bool_], resamples: Resamples) -> Figure:
    low, high = resamples.interval(right)
    return Figure(value=float(right.mean()), low=low, high=high)


def _to_units(x: Tensor, spread: Spread) -> Tensor:
    return (x - spread.centre.to(x.dtype)) / spread.unit.to(x.dtype)


def _in_units(network: Callable[..., Tensor], spread: Spread, series: Series) -> Callable[..., Tensor]:
    """The network of (x - centre) / unit: a ball there has the same size in every channel's own spread."""
    centre, unit = spread.centre.to(series.x.dtype), spread.unit.to(series.x.dtype)

    def turned(z: Tensor, lengths: Tensor | None = None) -> Tensor:
        call = {} if lengths is None else {"lengths": lengths}
        return network(z * unit + centre, **call).to(z.dtype)

    return turned


def _flat_probabilities(logits: Tensor, classes: int) -> tuple[MaskingSign, ...]:
    """A vote without shades: all probabilities are 0 or 1, and a search sees classes only."""
    # The floor of the logarithm stands for 0.
    shades = float(((logits > -20) & (logits < -1e-9)).any(1).double().mean())
    return (
        MaskingSign(
            name="probabilities are 0 or 1",
            holds=shades < 0.1,
            text=f"{100 * (1 - shades):.0f} % of the answers have no shades: a search without gradients then sees "
            "classes only, and the true accuracy under attack may be far lower",
        ),
    )


def _signs(
    network: Callable[..., Tensor], z: Tensor, y: Tensor, lengths: Tensor | None, budget: Budget, seed: int
) -> tuple[MaskingSign, ...]:
    part = slice(0, _SIGNED)
    if len(y[part].unique()) < 2:
        return ()
    found = signs(
        network, z[part], y[part], stream("audit", "signs", seed), radius=HEADLINE, steps=budget.steps,
        queries=budget.queries, lengths=None if lengths is None else lengths[part], batch=_BATCH,
    )  # fmt: skip
    return tuple(MaskingSign(name=one.name, holds=one.holds, weak=one.weak, text=_said(one)) for one in found)


def _said(sign: object) -> str:
    numbers = ", ".join(f"{name} {value:.3g}" for name, value in sign.numbers.items())  # type: ignore[attr-defined]
    return f"{sign.meaning}: {numbers}"  # type: ignore[attr-defined]
