r"""What bad hardware does to a recurrent network: to its states after every input, or to its weights for good.

With h any number of a state after an input, s the root mean square and m the largest size of that state on clean data,
xi ~ N(0, 1) and u uniform in [0, 1), both fresh for each sample, input and unit,

    state noise        h + sigma s xi                                            analogue circuits
    state rounding     q [h / q], q = m / (2^(bits - 1) - 1), held within +-m     registers of few bits
    stuck units        at m for ever, each unit with probability p               dead units
    flipped units      -h where u < p                                            a sign that is lost now and then
    weight noise       w (1 + sigma xi), drawn once                              resistors that were not met exactly
    weight rounding    q [w / q], q = max |w| / (2^(bits - 1) - 1)               weights of few bits

Settings, frozen and JSON there and back. :func:`noisyrnn.rnn.faulty` puts one into a layer or a classifier.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from noisyrnn.setting import Setting

Sigma = Annotated[float, Field(ge=0, le=1e6)]
Share = Annotated[float, Field(ge=0, le=1)]
Bits = Annotated[int, Field(ge=2, le=24)]
"""Of a number with its sign; with more than 24 single precision has nothing to round."""


class HardwareFault(Setting, ABC):
    """A fault of the machine that runs a network, not of the sensor before it."""

    kind: str
    strength: ClassVar[str]
    """The field that curves run over."""

    @property
    def level(self) -> float:
        """How strong it is; of rounding, how many bits are left."""
        return float(getattr(self, self.strength))


class StateFault(HardwareFault, ABC):
    """A fault that meets every state after every input."""

    normal: ClassVar[bool] = False
    """Whether each number of a state takes a Gaussian number at each input."""

    @property
    def even(self) -> bool:
        """Whether each takes a uniform one."""
        return False

    @property
    def units(self) -> float:
        """Probability with which a unit is hit for good."""
        return 0.0

    @abstractmethod
    def disturbed(self, h: Tensor, scale: Scale, xi: Tensor | None, u: Tensor | None, hit: Tensor) -> Tensor:
        """The state as the hardware keeps it; ``hit`` is True for units that are hit for good."""


class Scale(Setting):
    """Sizes of a state on clean data: root mean square and largest, over samples, time and units."""

    rms: float = Field(default=1.0, ge=0)
    largest: float = Field(default=1.0, ge=0)


class StateNoise(StateFault):
    """h + sigma s xi after every input; with ``relative=False`` sigma is in the state's own unit, h + sigma xi.

    >>> noise = StateNoise(sigma=0.1)
    >>> noise.disturbed(torch.zeros(2), Scale(rms=3.0), torch.ones(2), None, torch.zeros(2, dtype=torch.bool))
    tensor([0.3000, 0.3000])
    """

    strength: ClassVar[str] = "sigma"
    normal: ClassVar[bool] = True
    kind: Literal["state-noise"] = "state-noise"
    sigma: Sigma
    relative: bool = True

    @override
    def disturbed(self, h: Tensor, scale: Scale, xi: Tensor | None, u: Tensor | None, hit: Tensor) -> Tensor:
        size = self.sigma * scale.rms if self.relative else self.sigma
        return h if xi is None else h + size * xi


class StateRounding(StateFault):
    """The nearest of 2^bits - 1 numbers within +-m; ``stochastic``: up or down by chance, right on average.

    Nearest rounding forgets whatever moves a state by less than half a level in one input; stochastic does not.

    >>> nearest = StateRounding(bits=3)
    >>> nearest.disturbed(torch.tensor([0.1, 0.2, 9.0]), Scale(largest=1.0), None, None, torch.tensor([False] * 3))
    tensor([0.0000, 0.3333, 1.0000])
    """

    strength: ClassVar[str] = "bits"
    kind: Literal["state-rounding"] = "state-rounding"
    bits: Bits
    stochastic: bool = False

    @property
    @override
    def even(self) -> bool:
        return self.stochastic

    @override
    def disturbed(self, h: Tensor, scale: Scale, xi: Tensor | None, u: Tensor | None, hit: Tensor) -> Tensor:
        return rounded(h, scale.largest, self.bits, u)


class StuckUnits(StateFault):
    """Each unit with probability p is stuck for good ``at`` a share of m, in all of its states.

    >>> stuck = StuckUnits(probability=0.5, at=-1)
    >>> stuck.disturbed(torch.tensor([0.1, 0.2]), Scale(largest=2.0), None, None, torch.tensor([True, False]))
    tensor([-2.0000,  0.2000])
    """

    strength: ClassVar[str] = "probability"
    kind: Literal["stuck-units"] = "stuck-units"
    probability: Share
    at: float = Field(default=0.0, ge=-1, le=1)

    @property
    @override
    def units(self) -> float:
        return self.probability

    @override
    def disturbed(self, h: Tensor, scale: Scale, xi: Tensor | None, u: Tensor | None, hit: Tensor) -> Tensor:
        return h.masked_fill(hit, self.at * scale.largest)


class FlippedUnits(StateFault):
    """-h with probability p, each number of a state by itself at every input.

    >>> flipped, u = FlippedUnits(probability=0.5), torch.tensor([0.4, 0.6])
    >>> flipped.disturbed(torch.ones(2), Scale(), None, u, torch.tensor([False, False]))
    tensor([-1.,  1.])
    """

    strength: ClassVar[str] = "probability"
    kind: Literal["flipped-units"] = "flipped-units"
    probability: Share

    @property
    @override
    def even(self) -> bool:
        return True

    @override
    def disturbed(self, h: Tensor, scale: Scale, xi: Tensor | None, u: Tensor | None, hit: Tensor) -> Tensor:
        return h if u is None else torch.where(u < self.probability, -h, h)


class WeightFault(HardwareFault, ABC):
    """A fault of every matrix of a network, as the hardware holds them; offsets and step sizes are spared."""

    @abstractmethod
    def spoilt(self, w: Tensor, generator: torch.Generator) -> Tensor:
        """The matrix that the hardware has in place of w."""


class WeightNoise(WeightFault):
    """w (1 + sigma xi), drawn once.

    >>> WeightNoise(sigma=0.0).spoilt(torch.ones(1, 2), torch.Generator())
    tensor([[1., 1.]])
    """

    strength: ClassVar[str] = "sigma"
    kind: Literal["weight-noise"] = "weight-noise"
    sigma: Sigma

    @override
    def spoilt(self, w: Tensor, generator: torch.Generator) -> Tensor:
        xi = torch.randn(w.shape, generator=generator, device=generator.device, dtype=torch.float32)
        return w * (1 + self.sigma * xi.to(w))


class WeightRounding(WeightFault):
    """The nearest of 2^bits - 1 numbers within +-max |w|, matrix by matrix.

    >>> WeightRounding(bits=2).spoilt(torch.tensor([[0.2, -0.6, 1.0]]), torch.Generator())
    tensor([[ 0., -1.,  1.]])
    """

    strength: ClassVar[str] = "bits"
    kind: Literal["weight-rounding"] = "weight-rounding"
    bits: Bits

    @override
    def spoilt(self, w: Tensor, generator: torch.Generator) -> Tensor:
        return rounded(w, float(w.abs().max()) if w.numel() else 0.0, self.bits)


AnyFault = Annotated[
    StateNoise | StateRounding | StuckUnits | FlippedUnits | WeightNoise | WeightRounding, Field(discriminator="kind")
]
"""Any fault of hardware; in JSON the field ``kind`` tells which."""


def rounded(h: Tensor, largest: float, bits: int, u: Tensor | None = None) -> Tensor:
    """The nearest multiple of q = largest / (2^(bits - 1) - 1) within +-largest; with uniform u, one of two by chance.

    >>> rounded(torch.tensor([0.3, 0.3]), 1.0, 2, torch.tensor([0.1, 0.9])).tolist()
    [0.0, 1.0]
    """
    levels = 2 ** (bits - 1) - 1
    if largest == 0:
        return torch.zeros_like(h)
    q = largest / levels
    steps = (h / q).round() if u is None else (h / q + u).floor()
    # Adding 0 turns the -0 that rounding leaves into 0.
    return steps.clamp(-levels, levels) * q + 0.0
