r"""Generalisation bound from margins (supplement F of Lim et al. 2021, after Xu and Mannor 2012).

    |risk - empirical risk| <= L sqrt((2 K log 2 + 2 log(1/delta)) / N),     K = classes max(1, (2 C_M / gamma)^k)

with probability 1 - delta. The paper splits the root in two, which is right but larger, and omits the max. What else
the printed statement leaves out is listed in the result: the loss must be of the predicted label, and gamma must not
have been chosen from the same data, unless one pays for it with a union bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Generalisation:
    """The bound in one root, as printed in two, the number K of cells, and what both take for granted."""

    bound: float
    as_printed: float
    cells: float
    loss_bound: float
    margin: float
    """The margin used: gamma itself, or the power of 1/2 below it that the union bound allows."""
    assumptions: tuple[str, ...]

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than that a loss between 0 and L is between 0 and L."""
        return self.bound >= self.loss_bound

    def __str__(self) -> str:
        verdict = "vacuous (not below the loss bound)" if self.vacuous else "informative"
        first = f"generalisation error <= {self.bound:.6g} (as printed: {self.as_printed:.6g}), {verdict}; it assumes:"
        return "\n".join([first, *(f"  - {assumption}" for assumption in self.assumptions)])


def generalisation_bound(
    *,
    margin: float,
    dimension: int,
    complexity: float,
    classes: int,
    samples: int,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    data_dependent: bool = False,
) -> Generalisation:
    """L sqrt((2 K log 2 + 2 log(1/delta)) / N) with K = classes max(1, (2 C_M / gamma)^k).

    Parameters
    ----------
    margin
        gamma, a lower bound of all training margins.
    dimension
        k, of the set that the inputs lie in.
    complexity
        C_M of that set; for a subspace :func:`subspace_complexity`.
    classes, samples
        Number of classes, and N of training samples.
    delta
        Probability that the bound fails.
    loss_bound
        L, the largest value of the loss.
    data_dependent
        Whether the margin was computed from the training data, which is paid for.

    Returns
    -------
    Generalisation

    Examples
    --------
    >>> result = generalisation_bound(margin=0.1, dimension=2, complexity=1.0, classes=10, samples=60000, delta=0.01)
    >>> print(f"{result.bound:.9f} {result.as_printed:.9f}")
    0.304258327 0.316395701
    """
    for name, value in {"margin": margin, "complexity": complexity, "loss_bound": loss_bound}.items():
        if not 0 < value < math.inf:
            raise ValueError(f"The bound needs a positive finite {name}, got {value}; misclassified samples have none.")
    for name, count in {"dimension": dimension, "classes": classes, "samples": samples}.items():
        if count < 1:
            raise ValueError(f"The bound needs at least 1 for {name}, got {count}.")
    if not 0 < delta < 1:
        raise ValueError(f"delta is the probability that the bound fails and must lie in (0, 1), got {delta}.")
    used, failure = _on_grid(margin, delta) if data_dependent else (margin, delta)
    cells = classes * covering_number(used / 2, dimension=dimension, complexity=complexity)
    tail = 2 * math.log(1 / failure) / samples
    printed = classes * _power(2 * complexity / used, dimension) * 2 * math.log(2) / samples
    return Generalisation(
        bound=loss_bound * math.sqrt(2 * math.log(2) * cells / samples + tail),
        as_printed=loss_bound * (math.sqrt(printed) + math.sqrt(tail)),
        cells=cells,
        margin=used,
        loss_bound=loss_bound,
        assumptions=_assumptions(data_dependent, dimension, complexity, loss_bound),
    )


def covering_number(radius: float, *, dimension: int, complexity: float) -> float:
    """N(rho) <= max(1, (C_M / rho)^k): balls of radius rho that cover the inputs.

    >>> covering_number(0.05, dimension=2, complexity=1.0)
    400.0
    """
    if not radius > 0:
        raise ValueError(f"A covering needs balls of positive radius, got {radius}.")
    return max(1.0, _power(complexity / radius, dimension))


def subspace_complexity(largest: float, *, dimension: int) -> float:
    """C_M = 2 c sqrt k for inputs of norm at most c in a k-dimensional subspace (Shalev-Shwartz, Ben-David 2014, 27.1).

    >>> subspace_complexity(1.0, dimension=4)
    4.0
    """
    if not largest > 0 or dimension < 1:
        raise ValueError(f"A subspace needs a positive radius and dimension, got {largest} and {dimension}.")
    return 2 * largest * math.sqrt(dimension)


def _on_grid(margin: float, delta: float) -> tuple[float, float]:
    """gamma_j = 2^-j <= gamma with delta_j = delta / (j (j + 1)), j = 1, 2, ...: the deltas sum to delta."""
    j = max(1, math.ceil(-math.log2(margin)))
    return 2.0**-j, delta / (j * (j + 1))


def _power(ratio: float, exponent: int) -> float:
    try:
        return ratio**exponent
    except OverflowError:
        return math.inf


def _assumptions(data_dependent: bool, dimension: int, complexity: float, loss_bound: float) -> tuple[str, ...]:
    fixed = (
        "the margin was computed from the data: the nearest power of 1/2 below it is used, with a union bound over all"
        if data_dependent
        else "the margin was fixed before the data were seen (otherwise use data_dependent=True)"
    )
    return (
        "the training samples are independent draws from the distribution that the risk is about",
        f"the loss depends on the predicted label alone, as the 0-1 loss does, and lies in [0, {loss_bound:g}] "
        "(cross entropy does neither)",
        "every training sample is classified correctly, with a margin greater than the one used",
        f"the inputs are covered by at most ({complexity:g} / rho)^{dimension} balls of radius rho: proved for a "
        f"{dimension}-dimensional subspace with C_M = 2 c sqrt k and rho <= C_M, assumed for a manifold",
        fixed,
    )
