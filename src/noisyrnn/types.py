"""Shape vocabulary: the axes that every signature speaks of.

A hidden state h moves by dh = f(h, u) dt + g(h) dB, in steps of size dt: the drift f pulls it, and sees of the input a
drive u; through the diffusion g it is shaken by Brownian motions B.

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

Dt = Float[Tensor, "..."]
"""Step size dt: a scalar, one for each unit, or one for each sample (then with a last axis of length 1)."""

Path = Float[Tensor, "time *batch noises"]
"""Noise of a whole sequence, time first."""

Sequence = Float[Tensor, "batch time features"]
"""Public arrays: sample, time, feature."""

Lengths = Int[Tensor, " batch"]
"""Number of valid steps of each sample."""
