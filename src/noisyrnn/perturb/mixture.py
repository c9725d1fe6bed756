r"""A mixture of sensor faults for training: each series gets some kinds, each at a strength of its own.

It is what robustness to sensor faults mostly comes from, whatever the classifier: a quarter of the series stays clean,
the others get each kind with probability 1/4, independently, in the order of ``series_faults.KINDS``. Kinds, ranges of
strengths and probabilities are one setting, which is recorded with a model.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor

from noisyrnn.perturb.fault import Probability, Strength
from noisyrnn.perturb.series_faults import KINDS, Generator, Given
from noisyrnn.setting import Setting

Kind = Literal[
    "warp", "jitter", "scale", "clip", "drift", "wander", "hold", "zero", "multiplicative", "burst", "spikes", "white"
]
_S = TypeVar("_S", bound="Strengths")


class Strengths(Setting):
    """A kind of fault whose strength is uniform in [low, high] for each series; spikes have a size besides.

    >>> Strengths(kind="white", high=1.0)
    Strengths(kind='white', low=0.0, high=1.0, sizes=(1.0, 4.0))
    """

    kind: Kind
    low: Strength = 0.0
    high: Strength
    sizes: tuple[Strength, Strength] = (1.0, 4.0)

    @model_validator(mode="after")
    def _ordered(self: _S) -> _S:
        if self.low > self.high or self.sizes[0] > self.sizes[1]:
            raise ValueError(f"a range begins below its end, got {self.low} to {self.high} and sizes {self.sizes}.")
        return self


DEFAULT_KINDS = (
    Strengths(kind="warp", high=0.04),
    Strengths(kind="scale", low=0.15, high=0.15),
    Strengths(kind="clip", low=0.8, high=2.5),
    Strengths(kind="drift", high=1.2),
    Strengths(kind="hold", high=0.4),
    Strengths(kind="multiplicative", high=0.6),
    Strengths(kind="burst", low=0.02, high=0.35),
    Strengths(kind="spikes", high=0.08),
    Strengths(kind="white", high=1.0),
)


class FaultMixture(Setting):
    """x~ of series x, in units of the training data's standard deviation: some faults, each at a drawn strength.

    Call it with (batch, time, feature) or one series (time, feature), as a transform of a ``torch`` data set, say.
    Without a generator it draws from torch's global one.

    >>> x = torch.zeros(8, 50, 1)
    >>> faulty = FaultMixture()(x, torch.Generator().manual_seed(0))
    >>> bool((faulty != x).flatten(1).any(1).any()), bool((faulty == x).flatten(1).all(1).any())
    (True, True)
    >>> FaultMixture.only("clip", 0.5)(torch.ones(3, 1)).flatten().tolist()
    [0.5, 0.5, 0.5]
    """

    kinds: Annotated[tuple[Strengths, ...], Field(min_length=1)] = DEFAULT_KINDS
    probability: Probability = 0.25
    """Of each kind, in a series that is not left clean."""
    clean: Probability = 0.25
    """Share of the series that stay as they are."""

    @classmethod
    def only(cls, kind: str, strength: float, *, size: float = 3.0) -> FaultMixture:
        """One kind at one strength in every series: a disturbance to measure with."""
        one = Strengths.model_validate({"kind": kind, "low": strength, "high": strength, "sizes": (size, size)})
        return cls(kinds=(one,), probability=1.0, clean=0.0)

    def without_clean(self) -> FaultMixture:
        """The same with no series left clean on purpose."""
        return self.model_copy(update={"clean": 0.0})

    def __call__(self, x: Tensor, generator: Generator = None, *, lengths: Tensor | None = None) -> Tensor:
        """x~ with the shape, precision and device of x; beyond its length a series is 0."""
        if x.ndim == 2:
            return self(x.unsqueeze(0), generator, lengths=lengths).squeeze(0)
        if x.ndim != 3 or not x.is_floating_point():
            raise ValueError(
                "A mixture of faults takes floating point x of shape (batch, time, feature) or (time, feature), "
                f"got {x.dtype} of shape {tuple(x.shape)}."
            )
        batch, time, _ = x.shape
        if batch == 0 or time == 0:
            return x.clone()
        counts = x.new_full((batch, 1), time) if lengths is None else lengths.to(x).reshape(batch, 1)
        faulty = x
        drawn = Given(x, counts, counts, counts, generator)
        touched = drawn.uniform(batch) >= self.clean
        order = list(KINDS)
        for one in sorted(self.kinds, key=lambda strengths: order.index(strengths.kind)):
            hit = touched & (drawn.uniform(batch) < self.probability)
            strength = one.low + (one.high - one.low) * drawn.uniform(batch, 1, 1)
            size = one.sizes[0] + (one.sizes[1] - one.sizes[0]) * drawn.uniform(batch, 1, 1)
            chosen = hit.nonzero().squeeze(1)
            if len(chosen):
                given = Given(faulty[chosen], strength[chosen], counts[chosen], size[chosen], generator)
                faulty = faulty.index_copy(0, chosen, KINDS[one.kind](given).to(x))
        if lengths is not None:
            beyond = torch.arange(time, device=x.device) >= lengths.to(x.device).unsqueeze(1)
            faulty = faulty.masked_fill(beyond.unsqueeze(-1), 0.0)
        return faulty if faulty is not x else x.clone()
