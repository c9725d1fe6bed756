"""What the theorems speak of: the network, its loss, its path without noise and the tangents along it."""

from noisyrnn.theory.system.loss import CrossEntropy, Loss, OwnLoss, SquaredError
from noisyrnn.theory.system.network import Network, Released
from noisyrnn.theory.system.noise_factor import NoiseFactor
from noisyrnn.theory.system.tangent import Tangent, Trajectory, trajectory, transitions

__all__ = [
    "CrossEntropy",
    "Loss",
    "Network",
    "NoiseFactor",
    "OwnLoss",
    "Released",
    "SquaredError",
    "Tangent",
    "Trajectory",
    "trajectory",
    "transitions",
]
