"""The paper's theorems as functions: the right formulas by default, the printed ones by name.

Theorem 1: regulariser, probe, explicit_loss; by other ways noise_laplacian, expansion, continuous_regulariser.
Theorem 2: score, margin_as_printed, logit_margin; certificates global, ball, adjoint; smoothing; generalisation_bound.
Theorem 3: exponent_interval, moment_interval, lyapunov_spectrum, lyapunov_function, stability_in_probability.
Convergence: strong_order, weak_order. Curvature: Hessian, top_eigenpairs, xtrace, spectral_density.

Systems with known answers are in ``theory.problems`` and ``theory.oracles``, figures of noise that stabilises and noise
that does not in ``theory.demonstrations``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# First, because a function imported below shares its name with this module and is the one meant by theory.moments.
from noisyrnn.theory.moments import moment_exponent

# isort: split
from noisyrnn.setting import Norm
from noisyrnn.theory.certificate import global_certificate
from noisyrnn.theory.continuum import continuous_regulariser, continuous_regulariser_as_printed, moments
from noisyrnn.theory.expansion import covariance, expansion, noisy_states, remainder, running_cost
from noisyrnn.theory.exponents import extrapolated_spectrum, lyapunov_spectrum
from noisyrnn.theory.generalisation import covering_number, generalisation_bound, subspace_complexity
from noisyrnn.theory.hessian import Hessian, hutchinson_trace, top_eigenpairs, xtrace
from noisyrnn.theory.jacobian import trajectory
from noisyrnn.theory.laplacian import noise_laplacian, regulariser_by_autodiff
from noisyrnn.theory.local_certificate import adjoint_certificate, ball_certificate
from noisyrnn.theory.loss import CrossEntropy, OwnLoss, SquaredError
from noisyrnn.theory.lyapunov import exponent_interval, exponent_interval_as_printed, moment_interval
from noisyrnn.theory.margin import (
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
from noisyrnn.theory.regulariser import Q_as_printed, R_of_section_five, R_of_section_five_as_printed, regulariser
from noisyrnn.theory.smoothing import smoothed_label, smoothing
from noisyrnn.theory.stability import lipschitz_rnn_condition, lyapunov_function, stability_in_probability

if TYPE_CHECKING:
    from noisyrnn.theory.convergence import strong_order, weak_order
    from noisyrnn.theory.density import spectral_density

# Modules that also draw are looked up on first use, so that nobody waits for matplotlib without need.
_DRAWING = {"strong_order": "convergence", "weak_order": "convergence", "spectral_density": "density"}


def __getattr__(name: str) -> Any:
    if name not in _DRAWING:
        raise AttributeError(f"module 'noisyrnn.theory' has no attribute {name!r}")
    return getattr(import_module(f"noisyrnn.theory.{_DRAWING[name]}"), name)


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
    "explicit_loss",
    "exponent_interval",
    "exponent_interval_as_printed",
    "extrapolated_spectrum",
    "first_order_distance",
    "generalisation_bound",
    "global_certificate",
    "hutchinson_trace",
    "input_stability",
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
