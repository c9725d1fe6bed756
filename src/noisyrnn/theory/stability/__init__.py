"""Theorem 3: how fast two solutions under the same noise part; bounded, estimated, and exact where it can be."""

from noisyrnn.theory.stability.criteria import lipschitz_rnn_condition, lyapunov_function, stability_in_probability
from noisyrnn.theory.stability.exponent_bounds import (
    PrintedBoundWarning,
    exponent_interval,
    exponent_interval_as_printed,
    moment_interval,
)
from noisyrnn.theory.stability.exponent_estimates import Exponents, extrapolated_spectrum, lyapunov_spectrum
from noisyrnn.theory.stability.linear_systems import (
    LinearSystem,
    commuting_exponents,
    linear_system,
    moment_exponent,
    step_moment_exponent,
)
from noisyrnn.theory.stability.secant_bounds import Interval, SecantBounds, Secants

__all__ = [
    "Exponents",
    "Interval",
    "LinearSystem",
    "PrintedBoundWarning",
    "SecantBounds",
    "Secants",
    "commuting_exponents",
    "exponent_interval",
    "exponent_interval_as_printed",
    "extrapolated_spectrum",
    "linear_system",
    "lipschitz_rnn_condition",
    "lyapunov_function",
    "lyapunov_spectrum",
    "moment_exponent",
    "moment_interval",
    "stability_in_probability",
    "step_moment_exponent",
]
