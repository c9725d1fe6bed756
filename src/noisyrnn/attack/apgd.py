r"""Projected gradient ascent that finds its own step (Croce and Hein 2020, APGD).

    z_{k+1} = P(x_k + s d(g_k)),   x_{k+1} = P(x_k + 0.75 (z_{k+1} - x_k) + 0.25 (x_k - x_{k-1}))

The step s begins at 2 r, the width of the ball. At checkpoints w_1 < w_2 < ... the climb so far is judged for each
sample: where fewer than 0.75 of the steps since the last checkpoint rose, or where neither s nor the best height have
changed since then, s is halved and the climb goes on from the best point. Checkpoints come closer as s shrinks.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Budget
from noisyrnn.attack.ball import direction
from noisyrnn.attack.case import Case
from noisyrnn.attack.climber import Climber

_ONWARDS = 0.75  # share of the new step; the rest is that of the step before
_RISING = 0.75  # share of steps that have to rise

_P = TypeVar("_P", bound="APGD")


def checkpoints(steps: int) -> tuple[int, ...]:
    """w_j = ceil(p_j steps) below ``steps``: p_0 = 0, p_1 = 0.22, p_{j+1} = p_j + max(p_j - p_{j-1} - 0.03, 0.06).

    >>> checkpoints(100)
    (0, 22, 41, 57, 70, 80, 87, 93, 99)
    """
    shares = [0, 22]  # in hundredths, so that sums are exact
    while shares[-1] < 100:
        shares.append(shares[-1] + max(shares[-1] - shares[-2] - 3, 6))
    found = sorted({-(-share * steps // 100) for share in shares})
    return tuple(mark for mark in found if mark < steps)


class APGD(Climber):
    """Projected gradient ascent with momentum that halves its step where it stops rising: nothing to tune.

    With ``targets`` the k most likely wrong classes are climbed towards, one after the other. Runs after the first
    (restarts, targets) work on the samples that still stand. Each sample gets the worst point of the run that broke it,
    or of all runs.

    Parameters
    ----------
    radius, norm
        The ball.
    steps
        Of a run.
    restarts
        Runs from different starts, each towards all targets.
    random_start
        Uniform in the ball, or the sample itself.
    loss
        What is climbed; DLR where confidence makes the cross-entropy flat.
    targets
        How many wrong classes are tried one after the other; none: the loss decides.
    bounds, passes, batch
        Limits of the data; forward passes of a stochastic network to average; samples at a time.

    Examples
    --------
    >>> from noisyrnn.setting import Norm
    >>> attack = APGD(radius=0.5, norm=Norm.L2, steps=20)
    >>> x = torch.zeros(1, 2, 2)
    >>> found = attack(lambda x: x[:, -1] * x.new_tensor([1, -1]), x, torch.tensor([0]), torch.Generator())
    >>> found[0, 1]  # -0.5 / sqrt 2
    tensor([-0.3536, -0.3536])
    """

    kind: Literal["apgd"] = "apgd"
    steps: int = Field(default=50, ge=1, le=100_000)
    targets: int | None = Field(default=None, ge=1, le=2**24)

    _seeds_samples = True

    @model_validator(mode="after")
    def _one_kind_of_target(self: _P) -> _P:
        if self.targeted and self.targets:
            raise ValueError("targets tries wrong classes, targeted=True wants one: leave one of them out.")
        return self

    @property
    @override
    def budget(self) -> Budget:
        runs = self.restarts * (self.targets or 1)
        return Budget(1 + runs * (self.steps + 1), runs * self.steps) * self.passes

    @override
    def _found(self, case: Case) -> Tensor:
        logits = case.mean_logits(case.x, self.passes)
        worst, gained = case.x.clone(), self._success(logits, case.y)
        for start in self._starts(case):
            for towards in self._classes(logits, case.y):
                left = (gained <= 0).nonzero()[:, 0]
                if not len(left):
                    return worst
                point, gain = self._climbed(case.part(left), start[left], None if towards is None else towards[left])
                better = gain > gained[left]
                worst[left] = torch.where(better[:, None, None], point, worst[left])
                gained[left] = torch.where(better, gain, gained[left])
        return worst

    def _classes(self, logits: Tensor, y: Tensor) -> list[Tensor | None]:
        """The classes to climb towards in each run, most likely first; none: away from y."""
        if self.targets is None:
            return [None]
        others = logits.scatter(1, y[:, None], -math.inf)
        return list(others.topk(min(self.targets, logits.shape[1] - 1), dim=1).indices.unbind(1))

    def _climbed(self, case: Case, start: Tensor, towards: Tensor | None) -> tuple[Tensor, Tensor]:
        """The point of largest success on one climb, and that success."""
        marks = dict(pairwise(reversed(checkpoints(self.steps))))
        point = before = top = worst = start
        high = gained = case.x.new_full((len(case),), -math.inf)
        risen_before, top_slope = -high, torch.zeros_like(start)
        step = case.x.new_full((len(case),), 2 * self.radius)
        rises, step_then, high_then = torch.zeros_like(step), torch.zeros_like(step), high
        for number in range(self.steps):
            slope, risen, gain = self._ascent(case, point, towards)
            worst, gained = _where(gain > gained, (point, gain), (worst, gained))
            rises = rises + (risen > risen_before)
            top, top_slope, high = _where(risen > high, (point, slope, risen), (top, top_slope, high))
            if number in marks:
                stuck = rises < _RISING * (number - marks[number])
                stuck = stuck | ((step == step_then) & (high == high_then))
                step_then, high_then, rises = step, high, torch.zeros_like(step)
                point, slope, risen, step = _where(stuck, (top, top_slope, high, step / 2), (point, slope, risen, step))
            risen_before = risen
            ahead = self._nearest(case, point + step[:, None, None] * direction(slope, self.norm))
            if number:
                ahead = self._nearest(case, point + _ONWARDS * (ahead - point) + (1 - _ONWARDS) * (point - before))
            before, point = point, ahead
        worst, gained = _where((gain := self._gain(case, point)) > gained, (point, gain), (worst, gained))
        return worst, gained


def _where(condition: Tensor, one: tuple[Tensor, ...], other: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The one or the other of each pair, sample by sample."""
    return tuple(torch.where(condition.view(-1, *[1] * (a.ndim - 1)), a, b) for a, b in zip(one, other, strict=True))
