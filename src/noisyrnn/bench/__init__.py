"""Speed beside the peers: ratios measured in one run, interleaved, on one machine."""

from noisyrnn.bench.case import Case
from noisyrnn.bench.limits import Limits, Machine, machine
from noisyrnn.bench.measure import Measurement, bench
from noisyrnn.bench.ratios import AVX2_TARGETS, TARGETS, targets, verdicts
from noisyrnn.bench.table import figure, markdown

__all__ = [
    "AVX2_TARGETS",
    "TARGETS",
    "Case",
    "Limits",
    "Machine",
    "Measurement",
    "bench",
    "figure",
    "machine",
    "markdown",
    "targets",
    "verdicts",
]
