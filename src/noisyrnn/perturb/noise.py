"""The three perturbations of the paper (its Section 7): white noise, multiplicative noise, salt and pepper.

And two other readings of its words: uniform noise for the first, which fits some of the paper's MNIST rows better and
some worse, and salt alone for the last, which fits nearly all of them better (docs/results).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor
from typing_extensions import override

from noisyrnn.perturb.draws import normal, uniform
from noisyrnn.perturb.fault import Fault, Probability, Ranged, Strength


class White(Fault):
    """x + sigma xi: additive white noise, a poor sensor.

    >>> x = torch.zeros(1, 3, 1)
    >>> White(sigma=0.0)(x, torch.Generator().manual_seed(0)).flatten().tolist()
    [0.0, 0.0, 0.0]
    """

    kind: Literal["white"] = "white"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x + self.sigma * normal(x, x.shape[1:], generator)


class WhiteUpTo(Fault):
    """x + s xi, s uniform in [0, sigma] for each sample: what to train with for white noise of unknown strength.

    >>> x = WhiteUpTo(sigma=1.0)(torch.zeros(2, 1000, 1), torch.Generator().manual_seed(0))
    >>> strengths = x.std(dim=1)
    >>> bool((strengths < 1.1).all()), bool((strengths[0] - strengths[1]).abs() > 0.05)
    (True, True)
    """

    kind: Literal["white-up-to"] = "white-up-to"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        # The strength is made from one more normal number, so that samples are drawn one after the other.
        xi = normal(x, (x.shape[1] * x.shape[2] + 1,), generator)
        strength = self.sigma * torch.special.ndtr(xi[:, -1]).reshape(-1, 1, 1)
        return x + strength * xi[:, :-1].reshape(x.shape)


class NoiseUpTo(Fault):
    """x (1 + ratio s' xi') + s xi, s and s' uniform in [0, sigma] for each sample: both kinds, of unknown strengths.

    >>> x = NoiseUpTo(sigma=1.0)(torch.ones(200, 50, 1), torch.Generator().manual_seed(0))
    >>> NoiseUpTo(sigma=0.0)(torch.ones(1, 2, 1), torch.Generator()).flatten().tolist()
    [1.0, 1.0]
    >>> bool((x.var() - 2 / 3).abs() < 0.05)  # E s^2 + E s'^2
    True
    """

    kind: Literal["noise-up-to"] = "noise-up-to"
    sigma: Strength
    ratio: Strength = 1.0

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        xi = normal(x, (2, x.shape[1] * x.shape[2] + 1), generator)
        added, multiplied = (self.sigma * torch.special.ndtr(xi[:, :, -1:]) * xi[:, :, :-1]).unbind(1)
        return x * (1 + self.ratio * multiplied.reshape(x.shape)) + added.reshape(x.shape)


class Uniform(Fault):
    """x + sigma u, u uniform in [0, 1): a reading of the paper's white noise; its mean is sigma / 2, not 0.

    >>> x = Uniform(sigma=0.5)(torch.zeros(1, 100, 1), torch.Generator().manual_seed(0))
    >>> bool((x >= 0).all()), bool((x < 0.5).all())
    (True, True)
    """

    kind: Literal["uniform"] = "uniform"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x + self.sigma * uniform(x, x.shape[1:], generator)


class Multiplicative(Fault):
    """x (1 + sigma xi): a gain that fluctuates; zeros stay zeros.

    >>> Multiplicative(sigma=0.5)(torch.zeros(1, 2, 1), torch.Generator()).flatten().tolist()
    [0.0, 0.0]
    """

    kind: Literal["multiplicative"] = "multiplicative"
    sigma: Strength

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x * (1 + self.sigma * normal(x, x.shape[1:], generator))


class _Defects(Ranged):
    """P(x~ = high) = p salt, P(x~ = low) = p (1 - salt), else x."""

    strength: ClassVar[str] = "probability"
    salt: ClassVar[float]
    probability: Probability

    @override
    def _faulty(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if x.numel() == 0:
            return x.clone()
        low, high = self._limits(x)
        u, lit = uniform(x, x.shape[1:], generator), self.probability * self.salt
        salted = torch.where(u < lit, high, x)
        return torch.where((u >= lit) & (u < self.probability), low, salted)


class SaltAndPepper(_Defects):
    """P(x~ = high) = P(x~ = low) = p / 2, else x: defective pixels, at the extremes of the data.

    >>> SaltAndPepper(probability=1.0, low=0, high=1)(torch.full((1, 4, 1), 0.5),
    ...     torch.Generator().manual_seed(0)).flatten().tolist()
    [1.0, 0.0, 1.0, 1.0]
    """

    salt: ClassVar[float] = 0.5
    kind: Literal["salt-and-pepper"] = "salt-and-pepper"


class Salt(_Defects):
    """P(x~ = high) = p, else x: every defective pixel is lit, a reading of the paper's salt and pepper.

    >>> Salt(probability=1.0, low=0, high=1)(torch.full((1, 4, 1), 0.5), torch.Generator()).flatten().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    salt: ClassVar[float] = 1.0
    kind: Literal["salt"] = "salt"
