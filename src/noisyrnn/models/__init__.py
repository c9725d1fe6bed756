"""The literature: each model from its own paper, its setting beside it, and the prescribed hyper-parameters."""

from noisyrnn.models.certified import Certified, CertifiedRNN
from noisyrnn.models.certified_cell import Contraction
from noisyrnn.models.classic import ClassicRNN, ClassicRNNSetting, Recurrence
from noisyrnn.models.cornn import CoRNN, CoRNNSetting, Damping
from noisyrnn.models.exprnn import ExpRNN, ExpRNNSetting
from noisyrnn.models.fronted import FrontedSetting, FrontEndSetting
from noisyrnn.models.lru import LRU, LRUSetting
from noisyrnn.models.matrices import Parametrisation, RotationStart
from noisyrnn.models.noisy_gates import MinGRU, MinGRUSetting, NoisyGRU, NoisyGRUSetting
from noisyrnn.models.presets import PRESETS, Model, Optimiser, Preset, preset
from noisyrnn.models.skew import Initialisation, matched_strengths
from noisyrnn.models.tanh import Antisymmetric, AntisymmetricRNN, Lipschitz, LipschitzRNN, Noisy, NoisyRNN
from noisyrnn.sde import Convention

__all__ = [
    "LRU",
    "PRESETS",
    "Antisymmetric",
    "AntisymmetricRNN",
    "Certified",
    "CertifiedRNN",
    "ClassicRNN",
    "ClassicRNNSetting",
    "CoRNN",
    "CoRNNSetting",
    "Contraction",
    "Convention",
    "Damping",
    "ExpRNN",
    "ExpRNNSetting",
    "FrontEndSetting",
    "FrontedSetting",
    "Initialisation",
    "LRUSetting",
    "Lipschitz",
    "LipschitzRNN",
    "MinGRU",
    "MinGRUSetting",
    "Model",
    "Noisy",
    "NoisyGRU",
    "NoisyGRUSetting",
    "NoisyRNN",
    "Optimiser",
    "Parametrisation",
    "Preset",
    "Recurrence",
    "RotationStart",
    "matched_strengths",
    "preset",
]
