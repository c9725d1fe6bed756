"""Theorem 1: training with noise is, on average, training with a regulariser Q + R."""

from noisyrnn.theory.regularisation.central_differences import expected_loss_by_differences
from noisyrnn.theory.regularisation.continuous import (
    Moments,
    continuous_regulariser,
    continuous_regulariser_as_printed,
    moments,
)
from noisyrnn.theory.regularisation.discrete import (
    Q_as_printed,
    R_of_section_five,
    R_of_section_five_as_printed,
    Regulariser,
    regulariser,
)
from noisyrnn.theory.regularisation.laplacian import noise_laplacian, regulariser_by_autodiff
from noisyrnn.theory.regularisation.random_probe import explicit_loss, probe
from noisyrnn.theory.regularisation.small_noise import (
    Expansion,
    RunningCost,
    covariance,
    expansion,
    noisy_states,
    remainder,
    running_cost,
)

__all__ = [
    "Expansion",
    "Moments",
    "Q_as_printed",
    "R_of_section_five",
    "R_of_section_five_as_printed",
    "Regulariser",
    "RunningCost",
    "continuous_regulariser",
    "continuous_regulariser_as_printed",
    "covariance",
    "expansion",
    "expected_loss_by_differences",
    "explicit_loss",
    "moments",
    "noise_laplacian",
    "noisy_states",
    "probe",
    "regulariser",
    "regulariser_by_autodiff",
    "remainder",
    "running_cost",
]
