"""Theorem 2: how far an input may move before its class changes; bounds, certificates, generalisation."""

from noisyrnn.theory.margin.bounds import (
    InputStability,
    Suprema,
    first_order_distance,
    input_stability,
    logit_margin,
    margin_as_printed,
    margin_estimate,
    sampled_suprema,
    score,
)
from noisyrnn.theory.margin.certificate import Certificate
from noisyrnn.theory.margin.gain_radius import GainCertificate, gain_certificate
from noisyrnn.theory.margin.generalisation import (
    Generalisation,
    covering_number,
    generalisation_bound,
    subspace_complexity,
)
from noisyrnn.theory.margin.lipschitz_certificate import global_certificate
from noisyrnn.theory.margin.local_certificate import adjoint_certificate, ball_certificate
from noisyrnn.theory.margin.randomised_smoothing import Smoothed, smoothed_label, smoothing

__all__ = [
    "Certificate",
    "GainCertificate",
    "Generalisation",
    "InputStability",
    "Smoothed",
    "Suprema",
    "adjoint_certificate",
    "ball_certificate",
    "covering_number",
    "first_order_distance",
    "gain_certificate",
    "generalisation_bound",
    "global_certificate",
    "input_stability",
    "logit_margin",
    "margin_as_printed",
    "margin_estimate",
    "sampled_suprema",
    "score",
    "smoothed_label",
    "smoothing",
    "subspace_complexity",
]
