r"""Systems with known answers, on which the theorems are tested.

The reference model has d_h = 4, d_x = 2, d_y = 3, M = 6 and, with indices from 1,

    A_ij = 0.3 sin(i + 2j) - 0.5 [i = j],  W_ij = 0.8 cos(2i - j),  U_ij = 0.7 sin(ij + 1),  b_i = 0.1 cos i,
    V_ij = cos(i + 3j),  x_m^i = sin(m / 2 + i),  dt_m = 0.1 + 0.02 (m mod 3),  h0_i = 0.2 sin i.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.sde import (
    SDE,
    TANH,
    Activation,
    Calculus,
    CommonNoise,
    Diffusion,
    Drift,
    DriftNoise,
    TanhDrift,
    activation,
)
from noisyrnn.theory.system.loss import CrossEntropy
from noisyrnn.theory.system.network import Network
from noisyrnn.types import Drive, State


@dataclass(frozen=True, eq=False)
class Example:
    """A network, an input and its label."""

    network: Network
    x: Tensor
    y: Tensor

    @property
    def loss(self) -> CrossEntropy:
        return self.network.cross_entropy(self.y)


def reference(
    *,
    additive: float = 0.0,
    multiplicative: float = 0.0,
    diffusion: Diffusion | None = None,
    steps: int = 6,
    label: int = 1,
    activation: Activation = TANH,
) -> Example:
    """The reference model in double precision; its loss at label 1 is 1.1176968830968246.

    Parameters
    ----------
    additive, multiplicative
        Strengths sigma_1 and sigma_2 of the paper's noise.
    diffusion
        Another noise in its place.
    steps
        Length of the input.
    label
        Of the input; the network answers 2.
    activation
        a.

    Returns
    -------
    Example

    Examples
    --------
    >>> P = reference()
    >>> torch.nn.functional.cross_entropy(P.network.logits(P.x), P.y).item()
    1.11769688309682...
    """
    i = torch.arange(1, 5, dtype=torch.float64)
    j, k = i[:, None], torch.arange(1, 3, dtype=torch.float64)
    drift = TanhDrift(
        A=0.3 * torch.sin(j + 2 * i) - 0.5 * torch.eye(4, dtype=torch.float64),
        W=0.8 * torch.cos(2 * j - i),
        U=0.7 * torch.sin(j * k + 1),
        b=0.1 * torch.cos(i),
        activation=activation,
    )
    m = torch.arange(steps, dtype=torch.float64)[:, None]
    network = Network(
        drift=drift,
        diffusion=DriftNoise(_double(additive), _double(multiplicative)) if diffusion is None else diffusion,
        dt=0.1 + 0.02 * (m % 3),
        V=torch.cos(j[:3] + 3 * i),
        h0=0.2 * torch.sin(i),
    )
    return Example(network, torch.sin(0.5 * m + k).unsqueeze(0), torch.tensor([label]))


def geometric_brownian_motion(a: float, s: float, *, calculus: Calculus = Calculus.ITO) -> SDE:
    """dh = a h dt + s h dB: h_T = h_0 exp((a - s^2 / 2) T + s B_T) in the Ito sense, without the s^2 / 2 otherwise.

    >>> geometric_brownian_motion(0.3, 0.8).drift(torch.ones(1, 1).double(), torch.zeros(1, 1).double()).item()
    0.3
    """
    zero = torch.zeros(1, 1, dtype=torch.float64)
    drift = TanhDrift(A=zero + a, W=zero, U=zero, b=zero[0], activation=activation("identity"))
    return SDE(drift, CommonNoise(_double(s)), calculus=calculus)


class QuadraticDecay(Drift):
    """f = -h^2: hbar_t = h_0 / (1 + h_0 t), one of few nonlinear drifts whose Q is known in closed form.

    >>> QuadraticDecay()(torch.tensor([[2.0]]), torch.zeros(1, 1))
    tensor([[-4.]])
    """

    def __init__(self) -> None:
        super().__init__(units=1)

    def forward(self, h: State, u: Drive) -> State:
        return -h.square()

    @staticmethod
    def Q(h0: float, T: float) -> float:
        """Q of l(h) = h and additive noise 1: -2 / (5 h0^2 (1+h0 T)^2) [((1+h0 T)^4 - 1) / 4 + 1 / (1+h0 T) - 1].

        >>> round(QuadraticDecay.Q(1.0, 1.0), 12)
        -0.325
        """
        q = 1 + h0 * T
        return -2 / (5 * h0**2 * q**2) * ((q**4 - 1) / 4 + 1 / q - 1)


def two_classes() -> Example:
    """M = 1, f = x, dt = 1, V = (1/2, -1/2)^T, x = 0.1: the true margin is 0.1, and o / sup ||J|| is twice as large.

    >>> two_classes().network.logits(two_classes().x).tolist()
    [[0.05, -0.05]]
    """
    one, zero = torch.ones(1, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    drift = TanhDrift(A=None, W=zero, U=one, b=zero[0], activation=activation("identity"))
    network = Network(drift=drift, dt=1.0, V=torch.tensor([[0.5], [-0.5]], dtype=torch.float64))
    return Example(network, 0.1 * one.unsqueeze(0), torch.tensor([0]))


def random_example(
    generator: torch.Generator,
    *,
    units: int = 4,
    inputs: int = 2,
    classes: int = 3,
    steps: int = 6,
    samples: int = 5,
    dt: float | Tensor = 0.2,
    diffusion: Diffusion | None = None,
    activation: Activation = TANH,
) -> Example:
    """A Lipschitz RNN with Gaussian matrices on Gaussian inputs, labelled by its own answer: every margin is positive.

    Parameters
    ----------
    generator
        Of the matrices and inputs.
    units, inputs, classes, steps, samples
        Sizes.
    dt, diffusion, activation
        Step size, noise (none by default) and a.

    Returns
    -------
    Example

    Examples
    --------
    >>> P = random_example(torch.Generator().manual_seed(0))
    >>> bool((P.network.logits(P.x).argmax(-1) == P.y).all())
    True
    """

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    drift = TanhDrift(
        A=normal(units, units) / units**0.5 - torch.eye(units, dtype=torch.float64),
        W=1.2 * normal(units, units) / units**0.5,
        U=normal(units, inputs),
        b=0.3 * normal(units),
        activation=activation,
    )
    network = Network(
        drift=drift,
        dt=dt,
        diffusion=DriftNoise() if diffusion is None else diffusion,
        V=normal(classes, units),
        c=0.1 * normal(classes),
        h0=0.2 * normal(units),
    )
    x = normal(samples, steps, inputs)
    return Example(network, x, network.logits(x).argmax(-1))


def _double(number: float) -> Tensor:
    return torch.tensor(number, dtype=torch.float64)
