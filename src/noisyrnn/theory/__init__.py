"""The paper's theorems as functions: the right formulas by default, the printed ones by name.

A room for each statement, all of whose main names are also here:

``regularisation``  Theorem 1: regulariser, probe, explicit_loss; by other ways noise_laplacian, continuous_regulariser.
``margin``          Theorem 2: score, margin_as_printed, logit_margin; certificates global, ball, adjoint, gain;
                    smoothing; generalisation_bound.
``stability``       Theorem 3: exponent_interval, moment_interval, lyapunov_spectrum, lyapunov_function.
``convergence``     Orders of the schemes: strong_order, weak_order.
``curvature``       The paper's Figure 3: Hessian, top_eigenpairs, xtrace, spectral_density.
``system``          What they speak of: Network and its losses.
``known``           Systems with known answers, oracles, and demonstrations of noise that stabilises and noise that does
                    not.

What draws is in the ``figures`` of a room, so that nobody waits for matplotlib without need.
"""

from noisyrnn.setting import Norm
from noisyrnn.theory import known
from noisyrnn.theory.convergence import strong_order, weak_order
from noisyrnn.theory.curvature import Hessian, hutchinson_trace, spectral_density, top_eigenpairs, xtrace
from noisyrnn.theory.margin import (
    adjoint_certificate,
    ball_certificate,
    covering_number,
    first_order_distance,
    gain_certificate,
    generalisation_bound,
    global_certificate,
    input_stability,
    logit_margin,
    margin_as_printed,
    margin_estimate,
    sampled_suprema,
    score,
    smoothed_label,
    smoothing,
    subspace_complexity,
)
from noisyrnn.theory.regularisation import (
    Q_as_printed,
    R_of_section_five,
    R_of_section_five_as_printed,
    continuous_regulariser,
    continuous_regulariser_as_printed,
    covariance,
    expansion,
    expected_loss_by_differences,
    explicit_loss,
    moments,
    noise_laplacian,
    noisy_states,
    probe,
    regulariser,
    regulariser_by_autodiff,
    remainder,
    running_cost,
)
from noisyrnn.theory.stability import (
    exponent_interval,
    exponent_interval_as_printed,
    extrapolated_spectrum,
    lipschitz_rnn_condition,
    lyapunov_function,
    lyapunov_spectrum,
    moment_exponent,
    moment_interval,
    stability_in_probability,
)
from noisyrnn.theory.system import CrossEntropy, Network, OwnLoss, Released, SquaredError, trajectory

__all__ = [
    "CrossEntropy",
    "Hessian",
    "Network",
    "Norm",
    "OwnLoss",
    "Q_as_printed",
    "R_of_section_five",
    "R_of_section_five_as_printed",
    "Released",
    "SquaredError",
    "adjoint_certificate",
    "ball_certificate",
    "continuous_regulariser",
    "continuous_regulariser_as_printed",
    "covariance",
    "covering_number",
    "expansion",
    "expected_loss_by_differences",
    "explicit_loss",
    "exponent_interval",
    "exponent_interval_as_printed",
    "extrapolated_spectrum",
    "first_order_distance",
    "gain_certificate",
    "generalisation_bound",
    "global_certificate",
    "hutchinson_trace",
    "input_stability",
    "known",
    "lipschitz_rnn_condition",
    "logit_margin",
    "lyapunov_function",
    "lyapunov_spectrum",
    "margin_as_printed",
    "margin_estimate",
    "moment_exponent",
    "moment_interval",
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
    "spectral_density",
    "stability_in_probability",
    "strong_order",
    "subspace_complexity",
    "top_eigenpairs",
    "trajectory",
    "weak_order",
    "xtrace",
]
