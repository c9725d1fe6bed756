"""Certificates: randomised smoothing for any classifier, and the exact ones of a network that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn.auditing.budget import Budget
from noisyrnn.auditing.examined import Examined
from noisyrnn.auditing.findings import Certificate, Certificates
from noisyrnn.auditing.series import Series
from noisyrnn.auditing.worst_cases import _in_units, _to_units
from noisyrnn.perturb import Spread
from noisyrnn.randomness import stream
from noisyrnn.theory import smoothing

RADII = (0.05, 0.1, 0.2, 0.4, 0.8)
SELECT = 100


def certificates(
    one: Examined, series: Series, y: NDArray[np.int64], spread: Spread, budget: Budget, seed: int
) -> Certificates:
    """Of the smoothed classifier, and of the classifier itself where it has one."""
    own = exact(one, series, y, spread)
    voted = smoothed(one, series, y, spread, budget, seed)
    return Certificates(found=(voted,) if own is None else (voted, own))


def smoothed(
    one: Examined, series: Series, y: NDArray[np.int64], spread: Spread, budget: Budget, seed: int
) -> Certificate:
    """Radii sigma Phi^-1(p) of the classifier that votes over noisy copies, each with confidence 1 - alpha."""
    network, z = _in_units(one.scores(series), spread, series), _to_units(series.x, spread)
    generator = stream("audit", "smoothing", seed)
    labels, radii = [], []
    for index in range(len(series)):
        end = z.shape[1] if series.lengths is None else int(series.lengths[index])
        call = {} if series.lengths is None else {"lengths": series.lengths[index : index + 1]}

        def asked(noisy: torch.Tensor, call: dict[str, torch.Tensor] = call, end: int = end) -> torch.Tensor:
            padded = torch.zeros(len(noisy), z.shape[1], z.shape[2], dtype=noisy.dtype)
            padded[:, :end] = noisy
            return network(padded, **{name: one.expand(len(noisy)) for name, one in call.items()})

        found = smoothing(
            asked, z[index : index + 1, :end], sigma=budget.sigma, generator=generator, alpha=budget.alpha,
            select=SELECT, draws=budget.draws,
        )  # fmt: skip
        labels.append(int(found.label))
        radii.append(float(found.radius))
    return _certificate(
        np.array(labels), np.array(radii), y,
        method="randomised smoothing", about="the smoothed classifier, which votes over noisy copies",
        sigma=budget.sigma, confidence=1 - budget.alpha,
    )  # fmt: skip


def exact(one: Examined, series: Series, y: NDArray[np.int64], spread: Spread) -> Certificate | None:
    """What a classifier of ours says of itself, if it has a gain: ``certify`` by another way than smoothing.

    Its radius is in units of its own scaling; the smallest ratio of that unit to the audit's turns it into the audit's.
    """
    certify = getattr(getattr(one.asked, "told", None), "certify", None)
    ratio = _scale_ratio(one, spread)
    if not callable(certify) or ratio is None:
        return None
    found: Any = certify(series.given(one.form), draws=1)
    if getattr(found, "method", "smoothing") == "smoothing":
        return None
    position = {name: index for index, name in enumerate(one.classes)}
    from noisyrnn.auditing.examined import plain_label

    labels = np.array([position.get(plain_label(label), -1) for label in found.label])
    return _certificate(
        labels, np.asarray(found.radius, dtype=np.float64) * ratio, y,
        method=str(found.method), about="the classifier itself, always",
    )  # fmt: skip


def _scale_ratio(one: Examined, spread: Spread) -> float | None:
    """min over channels of the classifier's unit over the audit's: |d| <= r times that is |d| <= r for the scaled."""
    prepared = getattr(getattr(one.asked, "told", None), "preparation_", None)
    deviation = getattr(prepared, "deviation", None)
    if deviation is None or getattr(getattr(prepared, "scaling", None), "value", None) != "channel":
        return None
    return float(np.min(np.asarray(deviation, dtype=np.float64) / spread.unit.numpy()))


def _certificate(
    labels: NDArray[np.int_], radii: NDArray[np.float64], y: NDArray[np.int64], *, method: str, about: str,
    sigma: float | None = None, confidence: float | None = None,
) -> Certificate:  # fmt: skip
    right = labels == y
    return Certificate(
        method=method,
        about=about,
        samples=len(y),
        radii=RADII,
        accuracy=tuple(float((right & (radii >= radius)).mean()) for radius in RADII),
        median=float(np.median(np.where(right, radii, 0.0))),
        abstained=int((labels < 0).sum()),
        sigma=sigma,
        confidence=confidence,
    )
