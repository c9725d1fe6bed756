r"""The worst of several attacks: x~_i is the first that makes the network err, or else the one that came nearest.

Attacks are run in order, each on the samples that still stand. :func:`standard` is the choice of Croce and Hein 2020
for a network without noise: two gradient attacks that need no step size, of which one cannot be led astray by a
confident network, and a search that needs no gradients.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Annotated, Literal, TypeVar

import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from noisyrnn.attack.adversary import Adversary, Bound, Budget
from noisyrnn.attack.apgd import APGD
from noisyrnn.attack.ascent import Network
from noisyrnn.attack.case import Case
from noisyrnn.attack.draws import Own
from noisyrnn.attack.fgsm import FGSM
from noisyrnn.attack.losses import Labels, Loss
from noisyrnn.attack.pgd import PGD
from noisyrnn.attack.square import Square
from noisyrnn.setting import Norm
from noisyrnn.types import Sequence

_U = TypeVar("_U", bound="Union")

STANDS, CLEAN = -1, 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    """x~ of each sample, and what broke it: -1 nothing, 0 it was wrong without an attack, k the k-th attack."""

    found: Sequence
    by: Int[Tensor, " batch"]
    names: tuple[str, ...]

    @property
    def accuracy(self) -> float:
        """Share of the samples that stand."""
        return float((self.by == STANDS).double().mean())

    @property
    def broken(self) -> dict[str, int]:
        """How many samples fell by which attack, and how many were wrong before."""
        counts = Counter(self.by.tolist())
        return {name: counts[number] for number, name in enumerate(("clean", *self.names))}


class Union(Adversary):
    """The worst of several attacks, run in order on the samples that still stand: one number for a network.

    Each sample gets the first x~ that breaks it; one that stands, that of largest excess. All members have one radius,
    one norm and the same bounds. They draw from equal seeds of a sample, so that no member that has seeds of its own
    (APGD, Square) breaks more alone than the union does, from a generator in the same state.

    >>> attack = Union(attacks=(FGSM(radius=0.1), Square(radius=0.1, queries=20)))
    >>> x, y = torch.tensor([[[0.3, 0.3]], [[0.05, 0.05]]]), torch.tensor([0, 0])
    >>> line = lambda x: x[:, -1] * torch.tensor([1.0, -1.0])
    >>> verdict = attack.verdict(line, x, y, torch.Generator())
    >>> verdict.accuracy, verdict.broken, attack.budget
    (0.5, {'clean': 0, 'fgsm': 1, 'square': 0}, Budget(forward=24, backward=1))
    """

    kind: Literal["union"] = "union"
    attacks: tuple[Annotated[FGSM | PGD | APGD | Square, Field(discriminator="kind")], ...] = Field(min_length=1)

    _seeds_samples = True

    @model_validator(mode="after")
    def _one_ball(self: _U) -> _U:
        for name in ("radius", "bounds", "norm"):
            values = {getattr(attack, name, Norm.LINF) for attack in self.attacks}
            if len(values) > 1:
                raise ValueError(f"The attacks of a union share one {name}, got {sorted(map(str, values))}.")
        if any(attack.targeted for attack in self.attacks):
            raise ValueError("A union asks whether a network errs at all: give it attacks with targeted=False.")
        return self

    @property
    @override
    def level(self) -> float:
        return self.attacks[0].radius

    @property
    def norm(self) -> Norm:
        """That of every member."""
        return getattr(self.attacks[0], "norm", Norm.LINF)

    @property
    def bounds(self) -> tuple[Bound, Bound] | None:
        """Those of every member."""
        return self.attacks[0].bounds

    @property
    def passes(self) -> int:
        """Forward passes with which it is judged whether a sample stands: as many as the most careful member takes."""
        return max(attack.passes for attack in self.attacks)

    @property
    def targeted(self) -> bool:
        return False

    @property
    @override
    def budget(self) -> Budget:
        judged = Budget((1 + len(self.attacks)) * self.passes, 0)
        return reduce(add, (attack.budget for attack in self.attacks), judged)

    @override
    def at(self: _U, radius: float) -> _U:
        members = [attack.at(radius).model_dump() for attack in self.attacks]
        return type(self).model_validate({**self.model_dump(), "attacks": members})

    def verdict(
        self,
        network: Network,
        x: Sequence,
        y: Labels,
        generator: torch.Generator | None = None,
        *,
        lengths: Labels | None = None,
    ) -> Verdict:
        """x~ of each sample and which attack broke it; called as the attack itself."""
        return self._judged(self._case(network, x, y, generator, lengths))

    @override
    def _worked(self, case: Case) -> Tensor:
        return self._judged(case).found

    def _judged(self, case: Case) -> Verdict:
        found, gained = case.x.clone(), case.excess(case.x, self.passes, self.batch)
        by = torch.where(gained <= 0, STANDS, CLEAN)
        for number, attack in enumerate(self.attacks, start=1):
            left = (by == STANDS).nonzero()[:, 0]
            if not len(left):
                break
            part = case.part(left)
            if isinstance(part.draws, Own):
                part = replace(part, draws=part.draws.again())
            member = attack if attack.batch else attack.model_copy(update={"batch": self.batch})
            point = member._worked(part)
            gain = part.excess(point, self.passes, self.batch)
            better = gain > gained[left]
            found[left] = torch.where(better[:, None, None], point, found[left])
            gained[left] = torch.where(better, gain, gained[left])
            by[left] = torch.where(gain <= 0, STANDS, number)
        return Verdict(found=found, by=by, names=tuple(_names(self.attacks)))


Attack = Annotated[FGSM | PGD | APGD | Square | Union, Field(discriminator="kind")]
"""Any attack; in JSON the field ``kind`` tells which."""


def standard(
    radius: float,
    norm: Norm = Norm.LINF,
    *,
    steps: int = 50,
    targets: int = 3,
    queries: int = 1000,
    bounds: tuple[Bound, Bound] | None = None,
    passes: int = 1,
    batch: int | None = None,
) -> Union:
    """APGD on the cross-entropy, APGD on the DLR towards the likeliest wrong classes, Square: report this one.

    Parameters
    ----------
    radius, norm, bounds
        The ball, and the limits of the data, if they have any.
    steps
        Of each climb; Croce and Hein take 100.
    targets
        Wrong classes that are tried; they take 9, or all others.
    queries
        Of the search without gradients; they take 5000.
    passes, batch
        Forward passes of a stochastic network to average; samples at a time.

    Examples
    --------
    >>> standard(0.1).budget
    Budget(forward=1210, backward=200)
    """
    shared = {"radius": radius, "norm": norm, "bounds": bounds, "passes": passes}
    members = (
        APGD(**shared, steps=steps),
        APGD(**shared, steps=steps, loss=Loss.DLR, targets=targets),
        Square(**shared, queries=queries * passes),
    )
    return Union(attacks=members, batch=batch)


def _names(attacks: tuple[APGD | FGSM | PGD | Square, ...]) -> list[str]:
    """A name for each attack: its kind, its loss if it is not the usual one, and a number where that is not enough.

    >>> _names((APGD(radius=1), APGD(radius=1, loss=Loss.DLR, targets=3), FGSM(radius=1), FGSM(radius=1)))
    ['apgd', 'apgd dlr 3 targets', 'fgsm', 'fgsm 2']
    """
    plain = []
    for attack in attacks:
        loss, targets = getattr(attack, "loss", Loss.CROSS_ENTROPY), getattr(attack, "targets", None)
        words = [attack.kind, *([] if loss is Loss.CROSS_ENTROPY else [loss.value])]
        plain.append(" ".join(words + ([f"{targets} targets"] if targets else [])))
    seen: Counter[str] = Counter()
    named = []
    for name in plain:
        seen[name] += 1
        named.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return named
