r"""Two conventions of the paper's noise: what its strengths mean.

Noise has an additive part, of strength sigma_1 (s in the authors' code), and a multiplicative one that goes with the
drift f, of strength sigma_2 (m); xi is standard normal. One step is

ITO        h + dt f + sqrt(dt) (sigma_1 + sigma_2 f) xi                       as printed
RELEASED   h + dt (1 - m + m U) f + s xi,  U uniform on [0, 1)                as the authors' code has it
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from torch import Tensor

Strength = float | Tensor
"""How strong a noise is: a number, one for each unit, or a Parameter that is learned."""


class Convention(StrEnum):
    """What the noise strengths mean: the printed Ito equation, or the authors' released code."""

    ITO = "ito"
    RELEASED = "released"


@dataclass(frozen=True, kw_only=True)
class NoiseLaw:
    """Noise of one of the two conventions, by its strengths: sigma_1 or s, and sigma_2 or m.

    ``additive`` is None where no Gaussian number is drawn.

    >>> NoiseLaw(convention=Convention.RELEASED, multiplicative=0.02).silent
    False
    """

    convention: Convention
    additive: Strength | None = None
    multiplicative: Strength = 0.0

    @property
    def released(self) -> bool:
        return self.convention is Convention.RELEASED

    @property
    def learned(self) -> bool:
        """Whether a strength is a tensor, which may want a gradient."""
        return isinstance(self.additive, Tensor) or isinstance(self.multiplicative, Tensor)

    def __str__(self) -> str:
        additive = 0.0 if self.additive is None else self.additive
        return (
            f"convention={self.convention}, additive={_shown(additive)}, multiplicative={_shown(self.multiplicative)}"
        )

    @property
    def silent(self) -> bool:
        """Whether there is no noise at all."""
        return self.additive is None and not isinstance(self.multiplicative, Tensor) and self.multiplicative == 0


def _shown(strength: Strength) -> str:
    return f"tensor of shape {tuple(strength.shape)}" if isinstance(strength, Tensor) else f"{strength:g}"
