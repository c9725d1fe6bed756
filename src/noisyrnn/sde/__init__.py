"""One instant: drift, diffusion, noise, scheme and step size of dh = f(h, x) dt + g(h, x) dB."""

from noisyrnn.sde.activations import TANH, Activation, ActivationName, activation
from noisyrnn.sde.brownian import Key, coarsen, draw, fresh_key, uniform
from noisyrnn.sde.constants import (
    growth_constant,
    growth_constant_as_printed,
    lipschitz_constant,
    lipschitz_constant_as_printed,
)
from noisyrnn.sde.convention import Convention, NoiseLaw
from noisyrnn.sde.diffusion import (
    AdditiveNoise,
    CommonNoise,
    Coupling,
    DenseNoise,
    Diffusion,
    DriftNoise,
    Silence,
    StateNoise,
)
from noisyrnn.sde.drift import Drift, GatedDrift, TanhDrift
from noisyrnn.sde.drift_factor import DriftFactor, Dropout, LinearTaming, StochasticDepth
from noisyrnn.sde.schemes import (
    Scheme,
    SchemeName,
    adaptive,
    euler_maruyama,
    heun,
    increment_tamed,
    milstein,
    released,
    scheme,
    tamed,
    tamed_as_printed,
)
from noisyrnn.sde.steps import ConstantStep, LearnedStep, StateStep, StepSize, bounded_increment
from noisyrnn.sde.system import SDE, Calculus

__all__ = [
    "SDE",
    "TANH",
    "Activation",
    "ActivationName",
    "AdditiveNoise",
    "Calculus",
    "CommonNoise",
    "ConstantStep",
    "Convention",
    "Coupling",
    "DenseNoise",
    "Diffusion",
    "Drift",
    "DriftFactor",
    "DriftNoise",
    "Dropout",
    "GatedDrift",
    "Key",
    "LearnedStep",
    "LinearTaming",
    "NoiseLaw",
    "Scheme",
    "SchemeName",
    "Silence",
    "StateNoise",
    "StateStep",
    "StepSize",
    "StochasticDepth",
    "TanhDrift",
    "activation",
    "adaptive",
    "bounded_increment",
    "coarsen",
    "draw",
    "euler_maruyama",
    "fresh_key",
    "growth_constant",
    "growth_constant_as_printed",
    "heun",
    "increment_tamed",
    "lipschitz_constant",
    "lipschitz_constant_as_printed",
    "milstein",
    "released",
    "scheme",
    "tamed",
    "tamed_as_printed",
    "uniform",
]
