"""The paper's theorems as functions: the right formulas by default, the printed ones by name."""

from noisyrnn.theory.certificate import Certificate, global_certificate
from noisyrnn.theory.continuum import continuous_regulariser, continuous_regulariser_as_printed, moments
from noisyrnn.theory.expansion import Expansion, covariance, expansion, noisy_states, remainder, running_cost
from noisyrnn.theory.generalisation import (
    Generalisation,
    covering_number,
    generalisation_bound,
    subspace_complexity,
)
from noisyrnn.theory.jacobian import trajectory, transitions
from noisyrnn.theory.laplacian import noise_laplacian, regulariser_by_autodiff
from noisyrnn.theory.local_certificate import adjoint_certificate, ball_certificate
from noisyrnn.theory.loss import CrossEntropy, Loss, OwnLoss, SquaredError
from noisyrnn.theory.margin import (
    Norm,
    Suprema,
    first_order_distance,
    input_stability,
    logit_margin,
    margin_as_printed,
    margin_estimate,
    sampled_suprema,
    score,
)
from noisyrnn.theory.network import Network, Released
from noisyrnn.theory.probe import explicit_loss, probe
from noisyrnn.theory.regulariser import (
    Q_as_printed,
    R_of_section_five,
    R_of_section_five_as_printed,
    Regulariser,
    regulariser,
)
from noisyrnn.theory.smoothing import Smoothed, smoothed_label, smoothing

__all__ = [
    "Certificate",
    "CrossEntropy",
    "Expansion",
    "Generalisation",
    "Loss",
    "Network",
    "Norm",
    "OwnLoss",
    "Q_as_printed",
    "R_of_section_five",
    "R_of_section_five_as_printed",
    "Regulariser",
    "Released",
    "Smoothed",
    "SquaredError",
    "Suprema",
    "adjoint_certificate",
    "ball_certificate",
    "continuous_regulariser",
    "continuous_regulariser_as_printed",
    "covariance",
    "covering_number",
    "expansion",
    "explicit_loss",
    "first_order_distance",
    "generalisation_bound",
    "global_certificate",
    "input_stability",
    "logit_margin",
    "margin_as_printed",
    "margin_estimate",
    "moments",
    "noise_laplacian",
    "noisy_states",
    "probe",
    "regulariser",
    "regulariser_by_autodiff",
    "remainder",
    "running_cost",
    "sampled_suprema",
    "score",
    "smoothed_label",
    "smoothing",
    "subspace_complexity",
    "trajectory",
    "transitions",
]
