"""Shape vocabulary: the axes that every signature speaks of.

``batch`` counts samples, ``time`` counts inputs, ``units`` counts hidden units, ``noises`` counts Brownian motions.
"""

from jaxtyping import Float, Int
from torch import Tensor

State = Float[Tensor, "*batch units"]
"""Hidden state h of one instant."""

Drive = Float[Tensor, "*batch drive"]
"""What the drift sees of the input at one instant, u = U x + b."""

Noise = Float[Tensor, "*batch noises"]
"""Standard normal numbers xi of one instant; the Brownian increment is sqrt(dt) xi."""

StepSize = Float[Tensor, "..."]
"""Step size dt: a scalar, one for each unit, or one for each sample (then with a last axis of length 1)."""

Path = Float[Tensor, "time *batch noises"]
"""Noise of a whole sequence, time first."""

Sequence = Float[Tensor, "batch time features"]
"""Public arrays: sample, time, feature."""

Lengths = Int[Tensor, " batch"]
"""Number of valid steps of each sample."""
