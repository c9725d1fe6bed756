"""Speed beside the peers: ratios measured in one run, interleaved, on one machine."""

from noisyrnn.bench.measure import Case, Measurement, bench
from noisyrnn.bench.table import TARGETS, figure, markdown, verdicts

__all__ = ["TARGETS", "Case", "Measurement", "bench", "figure", "markdown", "verdicts"]
