r"""Worst-case perturbations: x~ with |x~ - x| <= r that makes a network err, found by gradient ascent.

    FGSM   x~ = x + r sign(g),  g = dL/dx at (x, y)
    PGD    x_{k+1} = P(x_k + s d(g_k)),  d = sign(g) or g / |g|_2,  P the projection on the ball

(Goodfellow, Shlens, Szegedy 2015, the paper's; Madry, Makelov, Schmidt, Tsipras, Vladu 2018.) For a
stochastic network, ``passes`` forward passes estimate the gradient of E[L] (expectation over noise: Athalye,
Engstrom, Ilyas, Kwok 2018). A network is any callable from x (batch, time, feature) to logits.

Only dL/dx is asked for: the mode of the network and the ``.grad`` of its parameters are not touched, and
whether its noise is on is the caller's choice. Nothing is clamped unless ``bounds`` is given. Where a
gradient is not a number, the coordinate stays.

Rounding: x~ lies in its ball up to 2 eps (r + max|x|) for linf, and sqrt(time feature) times that for l2,
where eps is the spacing of the precision at 1.
"""

from typing import Annotated

from pydantic import Field

from noisyrnn.attack.ascent import Labels, Logits, Loss, Network, excess, gradient
from noisyrnn.attack.ball import projection
from noisyrnn.attack.fgsm import FGSM
from noisyrnn.attack.pgd import PGD, Keep
from noisyrnn.attack.survival import Curve, curve
from noisyrnn.setting import Norm

Attack = Annotated[FGSM | PGD, Field(discriminator="kind")]
"""Any attack; in JSON the field ``kind`` tells which."""

__all__ = [
    "FGSM",
    "PGD",
    "Attack",
    "Curve",
    "Keep",
    "Labels",
    "Logits",
    "Loss",
    "Network",
    "Norm",
    "curve",
    "excess",
    "gradient",
    "projection",
]
