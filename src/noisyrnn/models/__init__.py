"""The literature: each model from its own paper, its setting beside it, and the prescribed hyper-parameters."""

from noisyrnn.models.classic import Classic, ClassicRNN, Recurrence
from noisyrnn.models.cornn import CoRNN, Coupled, Damping
from noisyrnn.models.exprnn import Exponential, ExpRNN
from noisyrnn.models.matrices import Parametrisation, RotationStart
from noisyrnn.models.presets import PRESETS, Model, Optimiser, Preset, preset
from noisyrnn.models.skew import Convention, Initialisation, matched_strengths
from noisyrnn.models.tanh import Antisymmetric, AntisymmetricRNN, Lipschitz, LipschitzRNN, Noisy, NoisyRNN

__all__ = [
    "PRESETS",
    "Antisymmetric",
    "AntisymmetricRNN",
    "Classic",
    "ClassicRNN",
    "CoRNN",
    "Convention",
    "Coupled",
    "Damping",
    "ExpRNN",
    "Exponential",
    "Initialisation",
    "Lipschitz",
    "LipschitzRNN",
    "Model",
    "Noisy",
    "NoisyRNN",
    "Optimiser",
    "Parametrisation",
    "Preset",
    "Recurrence",
    "RotationStart",
    "matched_strengths",
    "preset",
]
