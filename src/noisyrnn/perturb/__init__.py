r"""What bad sensors do to a sequence: x, generator -> x~ with x of shape (batch, time, feature).

The three perturbations of the paper (Lim, Erichson, Hodgkinson, Mahoney, "Noisy Recurrent Neural
Networks", 2021, Section 7), with xi ~ N(0, 1) independent for each number of x:

    white               x~ = x + sigma xi
    multiplicative      x~ = x (1 + sigma xi)
    salt and pepper     P(x~ = max) = P(x~ = min) = p / 2,   P(x~ = x) = 1 - p

two other readings of its words, with u uniform in [0, 1),

    uniform             x~ = x + sigma u
    salt                P(x~ = max) = p,   P(x~ = x) = 1 - p

two to train with, where strengths are not known,

    white up to         x~ = x + s xi,   s uniform in [0, sigma] for each sample
    noise up to         x~ = x (1 + r s' xi') + s xi,   s' like s

and faults of real sensors: of the value (bias, gain, drift, spikes, bursts, clipping, quantisation, baseline wander,
hum, one Fourier mode, electrode motion, muscle artefact), of availability (dropped and lost samples, a gap, a stuck
sensor, a dead channel) and of timing (jitter, shift, stretch, compress). ``severities`` grades them, in units of the
``Spread`` of the data.

Each is a setting that can be called. sigma is always a standard deviation. Nothing is clamped unless
``bounds`` is given. The generator is never optional. Numbers are drawn sample after sample, so that
perturbing consecutive pieces of a batch with one generator gives what the whole batch would get: results
do not depend on the size of a batch, except where the range of the data is taken from the piece itself
(``low`` and ``high`` left out). Numbers are drawn in single precision on the generator's device, then
moved: every precision and device sees the same noise.
"""

from typing import Annotated

from pydantic import Field

from noisyrnn.perturb.availability import DeadChannel, Gap, LostSamples, Stuck
from noisyrnn.perturb.fault import Fault
from noisyrnn.perturb.mixture import FaultMixture, Strengths
from noisyrnn.perturb.noise import Multiplicative, NoiseUpTo, Salt, SaltAndPepper, Uniform, White, WhiteUpTo
from noisyrnn.perturb.sensor import (
    BaselineWander,
    Bursts,
    Clipping,
    Drift,
    DroppedSamples,
    Quantisation,
    TimeJitter,
)
from noisyrnn.perturb.severity import Graded, Group, Preset, severities
from noisyrnn.perturb.spread import Spread
from noisyrnn.perturb.timing import Compress, Shift, Stretch
from noisyrnn.perturb.value import Bias, ElectrodeMotion, FourierMode, Gain, Hum, MuscleArtefact, Spikes

Perturbation = Annotated[
    White
    | Multiplicative
    | SaltAndPepper
    | Uniform
    | Salt
    | WhiteUpTo
    | NoiseUpTo
    | DroppedSamples
    | Bursts
    | Drift
    | BaselineWander
    | Clipping
    | TimeJitter
    | Quantisation
    | Bias
    | Gain
    | Spikes
    | Hum
    | FourierMode
    | ElectrodeMotion
    | MuscleArtefact
    | Stuck
    | Gap
    | LostSamples
    | DeadChannel
    | Shift
    | Stretch
    | Compress,
    Field(discriminator="kind"),
]
"""Any perturbation; in JSON the field ``kind`` tells which."""

__all__ = [
    "BaselineWander",
    "Bias",
    "Bursts",
    "Clipping",
    "Compress",
    "DeadChannel",
    "Drift",
    "DroppedSamples",
    "ElectrodeMotion",
    "Fault",
    "FaultMixture",
    "FourierMode",
    "Gain",
    "Gap",
    "Graded",
    "Group",
    "Hum",
    "LostSamples",
    "Multiplicative",
    "MuscleArtefact",
    "NoiseUpTo",
    "Perturbation",
    "Preset",
    "Quantisation",
    "Salt",
    "SaltAndPepper",
    "Shift",
    "Spikes",
    "Spread",
    "Strengths",
    "Stretch",
    "Stuck",
    "TimeJitter",
    "Uniform",
    "White",
    "WhiteUpTo",
    "severities",
]
