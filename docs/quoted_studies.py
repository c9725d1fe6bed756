"""What the pages on results say of the studies: each function reads studies/<name>.json and gives a number as printed.

A template calls, for instance, {{ study("fgsm_readings").away("ordered-mnist/lipschitz-100-epochs-seed-0", "clipped to
[0, 1]") }}. Networks, readings and quantities have the names that the file gives them.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

STUDIES = Path(__file__).parents[1] / "studies"
_MINUS = str.maketrans("-", "\u2212")


class Readings:
    """Accuracies under several readings of one word of the paper."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found["found"]

    def accuracy(self, network: str, reading: str, level: float) -> str:
        """In percent."""
        return f"{self._found[network][reading]['accuracy'][f'{level:g}']:.1f}"

    def away(self, network: str, reading: str) -> str:
        """Points from the paper, on average over levels."""
        return f"{self._found[network][reading]['distance']:.1f}"

    def mean_away(self, reading: str) -> str:
        """Points from the paper, on average over levels and networks."""
        return f"{mean(found[reading]['distance'] for found in self._found.values()):.1f}"


class Certificates:
    """Accuracies that are proved within a radius."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found["found"]

    def accuracy(self, network: str, noise: float, radius: float) -> str:
        """In percent, of the classifier that is smoothed with this noise."""
        return f"{self._found[network][f'{noise:g}'][f'{radius:g}']:.1f}"


class Curvature:
    """Largest eigenvalue ("top") and trace of the Hessian of each group of samples."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found["found"]

    def mean(self, network: str, quantity: str) -> str:
        """Mean over groups, and its standard error."""
        return _with_error(self._found[network][quantity])

    def change(self, network: str, other: str, quantity: str) -> str:
        """Mean difference from another network within each group, and its standard error."""
        pairs = zip(self._found[network][quantity], self._found[other][quantity], strict=True)
        return _with_error([one - two for one, two in pairs])


class Hessian:
    """The Hessian of one group of samples, as ``noisyrnn theory hessian`` prints it."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._rows = {row["network"]: row for row in found["rows"]}

    def top(self, network: str) -> str:
        """The largest eigenvalue."""
        return f"{self._rows[network]['λ1']:.3g}"

    def trace(self, network: str) -> str:
        """The trace and its standard error over random vectors."""
        return f"{self._rows[network]['trace']:.3g} ± {self._rows[network]['standard error']:.3g}"


class Explanation:
    """What the theorems say of networks beside their accuracy, as ``noisyrnn theory explanation`` prints it."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._rows, self._facts = found["rows"], found["facts"]
        self._bounded = [row for row in self._rows if row["certified"]]

    def networks(self) -> str:
        """How many."""
        return str(self._facts["networks"])

    def R(self, model: str, *, epochs: int = 100) -> str:
        """By which noise in every step would raise the loss; two digits or more."""
        (R,) = [row["per_step_R"] for row in self._rows if (row["network"], row["epochs"]) == (model, epochs)]
        return f"{R:.1f}" if R < 10 else f"{R:.0f}"

    def correlation(self, quantity: str) -> str:
        """Rank correlation of per_step_R, exponent, certified or attacked with disturbed accuracy."""
        return f"{self._facts[f'rank correlation of {quantity} with disturbed accuracy']:+.2f}".translate(_MINUS)

    def most_certified(self) -> str:
        """The largest median certified radius of any network."""
        return f"{max(row['certified'] for row in self._bounded):.0e}"

    def least_certified(self) -> str:
        """The smallest median certified radius of any network."""
        return f"{min(row['certified'] for row in self._bounded):.0e}"

    def least_ratio(self) -> str:
        """How many times the attacked radius is larger than the certified one, at least."""
        return f"{min(row['attacked'] / row['certified'] for row in self._bounded):.0f}"

    def most_ratio(self) -> str:
        """How many times the attacked radius is larger than the certified one, at most."""
        return f"{max(row['attacked'] / row['certified'] for row in self._bounded):.0f}"


class Peers:
    """What other attacks leave of networks beside our union."""

    def __init__(self, found: dict[str, Any]) -> None:
        others = ("PGD", "ART", "transcription")
        self._ahead = [min(one[attack] for attack in others) - one["union"] for one in found["found"].values()]

    def networks(self) -> str:
        """How many."""
        return str(len(self._ahead))

    def as_low(self) -> str:
        """Of how many the union leaves as little as every other attack."""
        return str(sum(points >= 0 for points in self._ahead))

    def most_above(self) -> str:
        """Points that the union leaves above the lowest of the others, at most."""
        return f"{max(0.0, -min(self._ahead)):.1f}"

    def most_below(self) -> str:
        """Points that the union leaves below the lowest of the others, at most."""
        return f"{max(self._ahead):.1f}"


class LastBatch:
    """The loss before and after one more step."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found

    def before(self) -> str:
        """The loss before."""
        return f"{self._found['before']:.2f}"

    def after(self, batch: int, which: str) -> str:
        """The median, or the most, after a step from so many images."""
        return f"{self._found['after'][str(batch)][which]:.2f}"


class Steps:
    """Accuracies with shortened steps."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found

    def accuracy(self, network: str, factor: float) -> str:
        """In percent, with every step times the factor."""
        return f"{self._found[network][f'{factor:.3f}']:.1f}"


class Scales:
    """What pixels and noise do to units."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found

    def quantity(self, network: str, quantity: str) -> str:
        """lit, saturated, noise or scaled; two digits or more."""
        value = self._found[network][quantity]
        return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


_KINDS: dict[str, Any] = {
    "attack_peers": Peers,
    "curvature": Curvature,
    "explanation_ecg": Explanation,
    "explanation_ordered_mnist": Explanation,
    "fgsm_readings": Readings,
    "hessian": Hessian,
    "last_batch_step": LastBatch,
    "pixel_scales": Scales,
    "salt_pepper_readings": Readings,
    "shortened_steps": Steps,
    "smoothed_certificates": Certificates,
    "white_noise_readings": Readings,
}


def study(name: str) -> Any:
    """What the study of that name found."""
    return _KINDS[name](json.loads((STUDIES / f"{name}.json").read_text()))


def _with_error(values: list[float]) -> str:
    return f"{mean(values):.0f} ± {stdev(values) / len(values) ** 0.5:.0f}".translate(_MINUS)
