"""Faults at severities: the table by which an audit disturbs, in units of the spread of each channel of the data.

Severity k = 1 .. 5 is the share s = k / 5 of the largest disturbance; names and ranges follow what is usual for sensors
(docs/audit.md says from where, and where we differ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from noisyrnn.perturb.availability import DeadChannel, Gap, LostSamples, Stuck
from noisyrnn.perturb.fault import Fault
from noisyrnn.perturb.noise import Multiplicative, SaltAndPepper, White
from noisyrnn.perturb.sensor import BaselineWander, Bursts, Clipping, Drift, DroppedSamples, Quantisation, TimeJitter
from noisyrnn.perturb.timing import Compress, Shift, Stretch
from noisyrnn.perturb.value import Bias, ElectrodeMotion, FourierMode, Gain, Hum, MuscleArtefact, Spikes

STEPS = (0.2, 0.4, 0.6, 0.8, 1.0)
DECIBELS = (24, 18, 12, 6, 0, -6)


class Group(StrEnum):
    """What a fault does: wrong values, none at all, or at the wrong time."""

    VALUE = "value"
    AVAILABILITY = "availability"
    TIMING = "timing"


class Preset(StrEnum):
    """Which table: the standard one, that of ECG recordings, or the standard one and the library's other kinds."""

    STANDARD = "standard"
    ECG = "ecg"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Graded:
    """One line of the table: a fault at rising severities, each a setting in units of the data's spread."""

    name: str
    group: Group
    faults: tuple[Fault, ...]
    labels: tuple[str, ...]
    """What is said of each severity: 1 .. 5, or decibels."""
    channels: int = 1
    """How many channels the data must have at least for this fault to mean anything."""

    def at(self, severity: int) -> Fault:
        """The fault at severity 1, 2, ...

        >>> severities()["noise"].at(5)
        White(bounds=None, kind='white', sigma=1.0)
        """
        if not 1 <= severity <= len(self.faults):
            raise ValueError(f"{self.name} has severities 1 to {len(self.faults)}, got {severity}.")
        return self.faults[severity - 1]


def severities(preset: Preset | str = Preset.STANDARD) -> dict[str, Graded]:
    """The table by name: every fault at its severities, the mildest first.

    >>> table = severities()
    >>> len(table), table["stuck"].group.value, [fault.level for fault in table["bias"].faults]
    (18, 'availability', [0.15, 0.3, 0.45, 0.6, 0.75])
    """
    try:
        lines = {Preset.STANDARD: _STANDARD, Preset.ECG: _ECG, Preset.ALL: _STANDARD + _OTHERS}[Preset(preset)]
    except ValueError:
        raise ValueError(f"The tables of severities are {', '.join(Preset)}, got {preset!r}.") from None
    return {line.name: line for line in lines}


def _graded(
    name: str, group: Group, fault: Callable[[float], Fault], levels: Iterable[float] = STEPS, channels: int = 1
) -> Graded:
    faults = tuple(fault(level) for level in levels)
    labels = tuple(str(number) for number in range(1, len(faults) + 1))
    return Graded(name=name, group=group, faults=faults, labels=labels, channels=channels)


def _part(largest: float) -> list[float]:
    """The five parts of the largest level, written as a person would: 0.45, not 0.44999999999999996."""
    return [round(largest * step, 10) for step in STEPS]


def _decibels(name: str, fault: Callable[[float], Fault]) -> Graded:
    """sigma = 10^(-dB / 20) of a signal whose own deviation is 1."""
    faults = tuple(fault(10.0 ** (-level / 20)) for level in DECIBELS)
    return Graded(name=name, group=Group.VALUE, faults=faults, labels=tuple(f"{level} dB" for level in DECIBELS))


_V, _A, _T = Group.VALUE, Group.AVAILABILITY, Group.TIMING

_STANDARD = (
    _graded("noise", _V, lambda s: White(sigma=s)),
    _graded("bias", _V, lambda s: Bias(offset=s), _part(0.75)),
    _graded("drift", _V, lambda s: Drift(sigma=s, ramp=True)),
    _graded("gain", _V, lambda s: Gain(change=s)),
    _graded("spikes", _V, lambda s: Spikes(height=s), _part(7.5)),
    # At 3, 2.5, 2, 1.5 and 1 standard deviations.
    _graded("clipping", _V, lambda k: Clipping(fraction=1 - k / 3.5, low=-3.5, high=3.5), (3.0, 2.5, 2.0, 1.5, 1.0)),
    # 10, 8, 6, 5 and 4 bits of a converter that spans 4 standard deviations to either side.
    _graded("quantisation", _V, lambda bits: Quantisation(step=8 / 2**bits), (10.0, 8.0, 6.0, 5.0, 4.0)),
    _graded("baseline wander", _V, lambda s: BaselineWander(sigma=s, cycles=1.5), _part(0.75)),
    _graded("hum", _V, lambda s: Hum(sigma=s), _part(0.75)),
    _graded("fourier mode", _V, lambda s: FourierMode(sigma=s), _part(0.75)),
    _graded("stuck", _A, lambda s: Stuck(share=s)),
    # A gap that is filled forwards is a shorter stuck sensor: here it reads the mean.
    _graded("gap", _A, lambda s: Gap(share=s, hold=False), _part(0.5)),
    _graded("lost samples", _A, lambda s: LostSamples(start=s), _part(0.25)),
    _graded("dead channel", _A, lambda s: DeadChannel(share=s), channels=2),
    _graded("jitter", _T, lambda s: TimeJitter(sigma=s), _part(2.0)),
    _graded("shift", _T, lambda s: Shift(share=s), _part(0.2)),
    _graded("stretch", _T, lambda s: Stretch(change=s), _part(0.5)),
    _graded("compress", _T, lambda s: Compress(change=s), _part(0.5)),
)

_OTHERS = (
    _graded("random walk", _V, lambda s: Drift(sigma=s)),
    _graded("multiplicative noise", _V, lambda s: Multiplicative(sigma=s)),
    _graded("salt and pepper", _V, lambda s: SaltAndPepper(probability=s, low=-3, high=3), _part(0.25)),
    _graded("bursts", _V, lambda s: Bursts(sigma=s, rate=0.02), _part(3.0)),
    _graded("dropped samples", _A, lambda s: DroppedSamples(probability=s), _part(0.9)),
    _graded("held gap", _A, lambda s: Gap(share=s), _part(0.5)),
)

_ECG = (
    _decibels("baseline wander", lambda sigma: BaselineWander(sigma=sigma, cycles=1.5)),
    _decibels("electrode motion", lambda sigma: ElectrodeMotion(sigma=sigma)),
    _decibels("muscle artefact", lambda sigma: MuscleArtefact(sigma=sigma)),
)
