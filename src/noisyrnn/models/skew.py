r"""The drift and the noise that the tanh family shares: A and W skew plus decay, noise in one of two conventions.

Skew plus decay is (1 - beta)(B + B^T) + beta (B - B^T) - gamma I of a free, learned matrix B (``models.matrices``).

As printed, Ito: h + dt f + sqrt(dt)(sigma_1 + sigma_2 f) xi. As released by the paper's authors, and as the strengths
in its tables are meant: h + d * (1 - m + m U) * f + s xi with a learned step d in R^n. At the tables' step sizes the
released noise is about ten times as strong in its additive part: see :func:`matched_strengths`.

Matrices act on columns, as the papers write them; the released code multiplies rows, h A, which is B transposed here.
"""

from __future__ import annotations

import math
from enum import StrEnum

import torch
from torch import Tensor, nn

from noisyrnn.models.choice import refuse_other
from noisyrnn.models.matrices import Kept, skew_plus_decay
from noisyrnn.rnn.sde_cell import SDECell
from noisyrnn.sde.activations import Activation, ActivationName
from noisyrnn.sde.convention import Convention
from noisyrnn.sde.diffusion import AdditiveNoise, Diffusion, DriftNoise
from noisyrnn.sde.drift import Drift, GatedDrift, TanhDrift
from noisyrnn.sde.schemes import Scheme, SchemeName, released
from noisyrnn.sde.steps import ConstantStep, LearnedStep, StepSize


class Initialisation(StrEnum):
    """Law of the recurrent matrices at the start; n units, scale s (``init_scale``).

    RELEASED: standard deviation s / n, as the authors' code has it. PRINTED: variance s / n, as the paper has it (36
    times as wide at n = 128, s = 0.1). CHANG: standard deviation s / sqrt(n), inputs N(0, 1 / m), biases 0, as Chang et
    al. prescribe.
    """

    RELEASED = "released"
    PRINTED = "printed"
    CHANG = "chang"


def matched_strengths(additive: float, multiplicative: float, dt: float) -> tuple[float, float]:
    """(sigma_1, sigma_2) = (add / sqrt(dt), m sqrt(dt / 12)): Ito strengths with the variance of released ones.

    The released multiplicative noise also has mean 1 - m / 2; that bias has no counterpart.

    >>> matched_strengths(0.02, 0.02, 0.25)
    (0.04, 0.0028867...)
    """
    return additive / math.sqrt(dt), multiplicative * math.sqrt(dt / 12)


class SkewDrift(Drift):
    """f(h, x) = A h + a(W h + U x + b) with learned B, C behind A and W; ``linear=False`` leaves A out."""

    B: Tensor | None

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        beta_w: float,
        gamma_w: float,
        activation: Activation | ActivationName,
        initialisation: Initialisation,
        init_scale: float,
        beta_a: float = 1.0,
        gamma_a: float = 0.0,
        linear: bool = True,
        gated: bool = False,
    ) -> None:
        super().__init__(units)
        refuse_other("activation", activation, ActivationName, Activation)
        refuse_other("initialisation", initialisation, Initialisation)
        for name, beta in {"beta": beta_a, "beta_w": beta_w}.items():
            if not 0 <= beta <= 1:
                raise ValueError(
                    f"{name} weighs the skew part against the symmetric one and lies in [0, 1], got {beta}."
                )
        if init_scale < 0:
            raise ValueError(f"init_scale must be at least 0, got {init_scale}.")
        self.inputs = inputs
        self._kept = Kept()
        self.beta_a, self.beta_w, self.gamma_a, self.gamma_w = beta_a, beta_w, gamma_a, gamma_w
        self.activation = activation.activation if isinstance(activation, ActivationName) else activation
        spread = _spread(initialisation, init_scale, units)
        self.register_parameter("B", nn.Parameter(spread * torch.randn(units, units)) if linear else None)
        self.C = nn.Parameter(spread * torch.randn(units, units))
        self.input = _input_map(inputs, units, initialisation)
        self.gate = _input_map(inputs, units, initialisation) if gated else None

    def built(self) -> Drift:
        U, b, sources = self.input.weight, self.input.bias, [self.C] if self.B is None else [self.C, self.B]
        W, *rest = self._kept(sources, self._made, self.beta_w, self.gamma_w, self.beta_a, self.gamma_a)
        if self.gate is not None:
            return GatedDrift(W, U, b, self.gate.weight, self.gate.bias, self.activation)
        return TanhDrift(rest[0] if rest else None, W, U, b, self.activation)

    def _made(self) -> tuple[Tensor, ...]:
        W = skew_plus_decay(self.C, self.beta_w, self.gamma_w)
        return (W,) if self.B is None else (W, skew_plus_decay(self.B, self.beta_a, self.gamma_a))

    def encode(self, x: Tensor) -> Tensor:
        return self.built().encode(x)

    def forward(self, h: Tensor, u: Tensor) -> Tensor:
        return self.built()(h, u)

    def lipschitz(self) -> float:
        return self.built().lipschitz()

    def extra_repr(self) -> str:
        A = "" if self.B is None else f"beta_a={self.beta_a}, gamma_a={self.gamma_a}, "
        return f"{A}beta_w={self.beta_w}, gamma_w={self.gamma_w}, activation={self.activation.name}"


def noisy_cell(
    drift: Drift,
    *,
    dt: float,
    additive: float = 0.0,
    multiplicative: float = 0.0,
    convention: Convention = Convention.ITO,
    learned_step: bool | None = None,
    scheme: Scheme | SchemeName = SchemeName.EULER_MARUYAMA,
    substeps: int = 1,
) -> SDECell:
    """Any drift with the paper's noise in one of its two conventions; the step is learned by default as released."""
    refuse_other("convention", convention, Convention)
    refuse_other("scheme", scheme, SchemeName, Scheme)
    chosen = scheme.scheme if isinstance(scheme, SchemeName) else scheme
    as_released = convention is Convention.RELEASED
    if as_released and chosen is not SchemeName.EULER_MARUYAMA.scheme:
        raise ValueError(
            f"The released convention has a scheme of its own, got {chosen.name}; use Convention.ITO with it."
        )
    learned = as_released if learned_step is None else learned_step
    step_size: StepSize = LearnedStep(drift.units, dt, positive=not as_released) if learned else ConstantStep(dt)
    diffusion: Diffusion | None = None
    if as_released and additive != 0:
        diffusion = AdditiveNoise(additive)
    elif not as_released and (additive != 0 or multiplicative != 0):
        diffusion = DriftNoise(additive, multiplicative)
    return SDECell(
        drift, diffusion, dt=step_size, scheme=released(multiplicative) if as_released else chosen, substeps=substeps
    )


def _spread(initialisation: Initialisation, scale: float, units: int) -> float:
    if initialisation is Initialisation.RELEASED:
        return scale / units
    return math.sqrt(scale / units) if initialisation is Initialisation.PRINTED else scale / math.sqrt(units)


def _input_map(inputs: int, units: int, initialisation: Initialisation) -> nn.Linear:
    linear = nn.Linear(inputs, units)
    if initialisation is Initialisation.CHANG:
        nn.init.normal_(linear.weight, std=1 / math.sqrt(inputs))
        nn.init.zeros_(linear.bias)
    return linear
