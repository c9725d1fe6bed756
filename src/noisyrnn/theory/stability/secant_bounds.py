r"""Extremes of F = A + D W over all diagonal matrices D of slopes: what two states of a network can do to each other.

For f = A h + a(W h + U x + b), f(h + e) - f(h) = F e with D the secant slopes of a, each in [slope_min, slope_max].
Symmetric part, norm and row norms of F are convex (or concave) in D, so their extremes lie at the 2^d vertices of the
box. Where that is too many, centre and radius give sound but looser numbers:

    F = C + R,   C = A + (slope_min + slope_max)/2 W,   ||R|| <= (slope_max - slope_min)/2 ||W||.

A monotone activation has slope_min >= 0; sin and gelu have not, and the paper's D in [0, L_a] would be wrong for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from noisyrnn.sde import Drift, TanhDrift


@dataclass(frozen=True)
class Interval:
    """[lo, hi], with sum, multiple and membership.

    >>> 0.5 in Interval(0.0, 1.0) + Interval(-1.0, 0.0)
    True
    """

    lo: float
    hi: float

    def __contains__(self, value: float) -> bool:
        return self.lo <= value <= self.hi

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def times(self, factor: float) -> Interval:
        """{factor x : x in [lo, hi]}."""
        return Interval(*sorted((factor * self.lo, factor * self.hi)))

    @property
    def stable(self) -> bool:
        """Whether it proves stability: hi < 0."""
        return self.hi < 0

    @property
    def unstable(self) -> bool:
        """Whether it proves instability: lo > 0."""
        return self.lo > 0


@dataclass(frozen=True, kw_only=True)
class SecantBounds:
    """u^T F u in [mu.lo, mu.hi], ||F|| <= norm, ||row of F|| <= row, ||F v|| >= least ||v||."""

    mu: Interval
    norm: float
    row: float
    least: float
    exact: bool
    """Whether all vertices were visited; otherwise the numbers are sound but looser (``least`` always is)."""


@dataclass(frozen=True, kw_only=True)
class Secants:
    """F = A + D W with D diagonal, its entries in [low, high].

    >>> W = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> Secants.of(TanhDrift(A=-torch.eye(2), W=W, U=torch.ones(2, 1), b=torch.zeros(2))).bounds().mu
    Interval(lo=-1.5, hi=-0.5)
    """

    A: Tensor
    W: Tensor
    low: float
    high: float

    @classmethod
    def of(cls, drift: Drift) -> Secants:
        """The secants of a drift, in double precision."""
        drift = drift.built()
        if not isinstance(drift, TanhDrift):
            raise ValueError(
                f"Bounds over all states need f = A h + a(W h + U x + b), got {type(drift).__name__}; "
                "use lyapunov_spectrum, which takes any drift."
            )
        W = drift.W.detach().double()
        A = torch.zeros_like(W) if drift.A is None else drift.A.detach().double()
        return cls(A=A, W=W, low=drift.activation.slope_min, high=drift.activation.slope_max)

    @property
    def lipschitz(self) -> float:
        """L_a = max |D_ii|."""
        return max(abs(self.low), abs(self.high))

    def bounds(self, *, scale: Tensor | None = None, vertices: int = 4096) -> SecantBounds:
        """mu_-, mu_+ of F, and L_F (norm), rho_F (row) and least gain of diag(scale) F.

        They are exact if the box of slopes has at most ``vertices`` vertices.
        """
        units = self.A.shape[0]
        s = self.A.new_ones(units, 1) if scale is None else scale.detach().to(self.A).expand(units).unsqueeze(-1)
        radius = (self.high - self.low) / 2
        centre = self.A + (self.low + self.high) / 2 * self.W
        rows = torch.stack([(s * (self.A + slope * self.W)).norm(dim=1) for slope in (self.low, self.high)])
        least = float(torch.linalg.svdvals(s * centre)[-1]) - radius * spectral_norm(s * self.W)
        exact = radius == 0 or 2**units <= vertices
        if exact:
            corners = product({self.low, self.high}, repeat=units) if radius else [(self.low,) * units]
            F = self.A + self.A.new_tensor(list(corners)).unsqueeze(-1) * self.W
            norm, slack = float(torch.linalg.matrix_norm(s * F, 2).max()), 0.0
        else:
            F = centre
            norm = spectral_norm(s * centre) + radius * spectral_norm(s * self.W)
            slack = radius * spectral_norm(self.W)
        rates = torch.linalg.eigvalsh((F + F.mT) / 2)
        mu = Interval(float(rates.min()) - slack, float(rates.max()) + slack)
        return SecantBounds(mu=mu, norm=norm, row=float(rows.max()), least=max(least, 0.0), exact=exact)


def spectral_norm(matrix: Tensor) -> float:
    """||M||_2, by singular values: power iteration would fall short of it."""
    return float(torch.linalg.matrix_norm(matrix, 2))
