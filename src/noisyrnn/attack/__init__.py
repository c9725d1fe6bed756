r"""Worst-case perturbations: x~ with |x~ - x| <= r that makes a network err, climbed to or searched for.

    FGSM    x~ = x + r sign(g),  g = dL/dx at (x, y)
    PGD     x_{k+1} = P(x_k + s d(g_k)),  d = sign(g) or g / |g|_2,  P the projection on the ball
    APGD    the same with momentum and a step s that is halved where it stops rising
    Square  x_k redrawn in a window in time, kept where max_{j != y} z_j - z_y rises; no gradients
    Union   the worst of several for each sample; ``standard`` is the one to report

(Goodfellow, Shlens, Szegedy 2015, the paper's; Madry, Makelov, Schmidt, Tsipras, Vladu 2018; Croce, Hein 2020;
Andriushchenko, Croce, Flammarion, Hein 2020.) For a stochastic network, ``passes`` forward passes estimate the gradient
of E[L] (expectation over noise: Athalye, Engstrom, Ilyas, Kwok 2018). A network is any callable from x (batch, time,
feature) to logits; with ``lengths`` it is called with them, and the padding beyond them is never changed. ``signs``
says whether gradients can be trusted.

Only dL/dx is asked for: the mode of the network and the ``.grad`` of its parameters are not touched, and
whether its noise is on is the caller's choice. Nothing is clamped unless ``bounds`` is given. Where a
gradient is not a number, the coordinate stays.

Rounding: x~ lies in its ball up to 2 eps (r + max|x|) for linf, and sqrt(time feature) times that for l2,
where eps is the spacing of the precision at 1.
"""

from noisyrnn.attack.adversary import Adversary, Budget
from noisyrnn.attack.apgd import APGD
from noisyrnn.attack.ascent import Network, gradient
from noisyrnn.attack.ball import projection
from noisyrnn.attack.fgsm import FGSM
from noisyrnn.attack.losses import Labels, Logits, Loss, excess, height
from noisyrnn.attack.masking import Sign, signs
from noisyrnn.attack.pgd import PGD, Keep, Schedule
from noisyrnn.attack.square import Features, Square
from noisyrnn.attack.survival import Curve, curve
from noisyrnn.attack.union import Attack, Union, Verdict, standard
from noisyrnn.setting import Norm

__all__ = [
    "APGD",
    "FGSM",
    "PGD",
    "Adversary",
    "Attack",
    "Budget",
    "Curve",
    "Features",
    "Keep",
    "Labels",
    "Logits",
    "Loss",
    "Network",
    "Norm",
    "Schedule",
    "Sign",
    "Square",
    "Union",
    "Verdict",
    "curve",
    "excess",
    "gradient",
    "height",
    "projection",
    "signs",
    "standard",
]
