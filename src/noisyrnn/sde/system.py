r"""The system: dh = f(h, x_t) dt + g(h, x_t) dB, in the Ito or the Stratonovich sense."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn.sde.diffusion import Diffusion, Silence
from noisyrnn.sde.drift import Drift


class Calculus(StrEnum):
    """Which integral dB means. They agree where g does not depend on h."""

    ITO = "ito"
    STRATONOVICH = "stratonovich"


class SDE(nn.Module):
    """Drift and diffusion, with the calculus they are meant in.

    >>> from noisyrnn.sde import AdditiveNoise, TanhDrift
    >>> drift = TanhDrift(A=None, W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
    >>> SDE(drift, AdditiveNoise(0.1)).noises
    2
    """

    calculus: Calculus
    noises: int

    def __init__(self, drift: Drift, diffusion: Diffusion | None = None, *, calculus: Calculus = Calculus.ITO) -> None:
        super().__init__()
        self.drift = drift
        self.diffusion = Silence() if diffusion is None else diffusion
        vars(self).update(calculus=calculus, noises=self.diffusion.noises(drift.units))

    @property
    def units(self) -> int:
        return self.drift.units

    def built(self) -> SDE:
        """The same system with its matrices built, for the length of one sequence."""
        drift = self.drift.built()
        return self if drift is self.drift else SDE(drift, self.diffusion, calculus=self.calculus)

    def quiet(self) -> SDE:
        """The same system without noise: g = 0."""
        return SDE(self.drift, Silence(), calculus=self.calculus)

    def to_torchsde(self, drive: Callable[[float], Tensor]) -> Any:
        """The system in torchsde's vocabulary (f, g, sde_type, noise_type); ``drive`` gives u at a time t.

        It can be handed to ``torchsde.sdeint(..., method="euler")`` as it is; torchsde itself is not needed here.
        """
        return _TorchSDE(self, drive)


class _TorchSDE(nn.Module):
    def __init__(self, sde: SDE, drive: Callable[[float], Tensor]) -> None:
        super().__init__()
        self.sde = sde
        self.drive = drive
        self.sde_type = sde.calculus.value
        self.noise_type = "diagonal" if sde.diffusion.diagonal else "general"

    def f(self, t: Tensor, h: Tensor) -> Tensor:
        return self.sde.drift(h, self.drive(float(t)))

    def g(self, t: Tensor, h: Tensor) -> Tensor:
        f = self.f(t, h)
        if self.noise_type == "diagonal":
            return self.sde.diffusion(h, f, torch.ones_like(h))
        return self.sde.diffusion.matrix(h, f)
