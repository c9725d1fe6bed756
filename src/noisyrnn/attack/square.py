r"""Random search in the ball, without gradients (Andriushchenko, Croce, Flammarion, Hein 2020, Square attack).

    x_{k+1} = x' if excess(x') > excess(x_k), else x_k;   x' is x_k, redrawn in a window in time

linf: in the window x' = x + r sigma, with a random sign for each feature, so that x' is always at a corner of the
ball. l2: a bump of random length is added in the window, and the whole is scaled back to the radius. (For images the
authors move all that one window holds to another. Carried over to five linear series, that reached 0.51 to 0.79 of the
best excess in 1000 queries, and bumps 0.79 to 1.00: what is given away whole cannot be shared out finely.)
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Budget, Single
from noisyrnn.attack.ball import direction, projection
from noisyrnn.attack.case import Case
from noisyrnn.attack.windows import tiles, window_lengths, window_share, windows
from noisyrnn.setting import Norm


class Features(StrEnum):
    """What a window holds: all features, or a random one."""

    ALL = "all"
    ONE = "one"


class Square(Single):
    """Random search over windows in time: asks only for logits, so masked gradients cannot mislead it.

    Parameters
    ----------
    radius, norm
        The ball.
    queries
        Forward passes spent on a sample at most, the sample itself and ``passes`` of each point included. A sample is
        left alone once the network errs on it.
    share
        Length of the first windows as a share of the series.
    features
        What a window changes.
    bounds, targeted, passes, batch
        As in other attacks.

    Examples
    --------
    >>> x, y = torch.full((1, 4, 2), 0.1), torch.tensor([0])
    >>> line = lambda x: x.sum(1) * torch.tensor([1.0, -1.0])
    >>> found = Square(radius=0.3, queries=50)(line, x, y, torch.Generator().manual_seed(0))
    >>> line(found).argmax(1).tolist(), bool((found - x).abs().max() <= 0.3 + 1e-6)
    ([1], True)
    """

    kind: Literal["square"] = "square"
    norm: Norm = Norm.LINF
    queries: int = Field(default=1000, ge=2, le=10_000_000)
    share: float = Field(default=0.8, gt=0, le=1)
    features: Features = Features.ALL

    _seeds_samples = True

    @property
    @override
    def budget(self) -> Budget:
        return Budget(max(self.queries // self.passes, 2) * self.passes, 0)

    @override
    @torch.no_grad()
    def _found(self, case: Case) -> Tensor:
        found, gain = case.x.clone(), self._gain(case, case.x)
        left = (gain <= 0).nonzero()[:, 0]
        case, clean = case.part(left), gain[left]
        point = self._first(case) if len(left) else case.x
        gain = self._gain(case, point) if len(left) else clean
        rounds = max(self.queries // self.passes, 2) - 2
        for number in range(rounds):
            standing = gain <= 0
            if not bool(standing.all()):
                found[left[~standing]] = point[~standing]
                kept = standing.nonzero()[:, 0]
                left, case, clean, point, gain = left[kept], case.part(kept), clean[kept], point[kept], gain[kept]
            if not len(left):
                return found
            trial = self._redrawn(case, point, window_share(self.share, number, rounds))
            risen = self._gain(case, trial)
            point = torch.where((risen > gain)[:, None, None], trial, point)
            gain = torch.maximum(gain, risen)
        found[left] = torch.where((gain > clean)[:, None, None], point, case.x)
        return found

    def _first(self, case: Case) -> Tensor:
        """linf: a random sign for each number; l2: bumps side by side with random signs."""
        x = case.x
        signs = _signs(case.drawn(x.shape[1] * x.shape[2])).reshape(x.shape).to(x.dtype)
        if self.norm is Norm.LINF:
            return self._moved(case, self.radius * signs)
        whole, number = tiles(case, window_lengths(case, self.share / 4))
        bumps = whole.bumps() * signs.gather(1, number[:, :, None].expand_as(signs))
        return self._moved(case, self.radius * direction(_valid(case, bumps.to(x.dtype)), self.norm))

    def _redrawn(self, case: Case, point: Tensor, share: float) -> Tensor:
        features = case.x.shape[2]
        u = case.drawn(4 + features)
        window = windows(case, window_lengths(case, share), u[:, 0])
        signs = _signs(u[:, 4:])[:, None].to(case.x.dtype)
        chosen = torch.ones_like(signs, dtype=torch.bool)
        if self.features is Features.ONE:
            chosen = (u[:, 1:2] * features).long()[:, None] == torch.arange(features, device=u.device)
        where = window.inside & chosen
        if self.norm is Norm.LINF:
            trial = torch.where(where, self._moved(case, self.radius * signs), point)
            same = (trial == point).all(dim=2).all(dim=1)[:, None, None]
            # A query that would change nothing is spent on the opposite signs.
            return torch.where(same & where, self._moved(case, -self.radius * signs), trial)
        bump = window.bumps().to(case.x.dtype) * signs * chosen
        # Half of the bumps are turned in their second half, so that they add up to nothing.
        turned = (u[:, 2] < 0.5)[:, None, None] & (2 * window.place >= window.length)[:, :, None]
        bump = direction(torch.where(turned, -bump, bump), self.norm)
        held = where.sum((1, 2)) / (case.steps * features)  # of the radius, squared, if all steps held the same
        length = (2 * u[:, 3] * held.sqrt()).to(case.x.dtype)[:, None, None]
        away = direction(point - case.x + self.radius * length * bump, self.norm)
        return self._moved(case, self.radius * away)

    def _moved(self, case: Case, away: Tensor) -> Tensor:
        point = case.x + _valid(case, away)
        return self._inside(case, projection(point, case.x, self.radius, self.norm))


def _signs(u: Tensor) -> Tensor:
    return torch.where(u < 0.5, -1.0, 1.0)


def _valid(case: Case, away: Tensor) -> Tensor:
    return away if case.valid is None else away * case.valid
