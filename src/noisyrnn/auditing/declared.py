"""Faults that a classifier says it has seen in training, in the words of the table of severities."""

from __future__ import annotations

from typing import Any

# Kinds of a mixture of faults, and the lines of the table that they resemble.
_RESEMBLE = {
    "white": ("noise",),
    "scale": ("gain",),
    "jitter": ("jitter",),
    "multiplicative": ("multiplicative noise",),
    "drift": ("drift", "random walk"),
    "wander": ("baseline wander",),
    "hold": ("stuck", "lost samples", "held gap", "dropped samples"),
    "zero": ("gap",),
    "burst": ("bursts",),
    "spikes": ("spikes",),
    "warp": ("jitter", "shift", "stretch", "compress"),
    "clip": ("clipping",),
}


def declared(told: Any) -> tuple[str, ...]:
    """``seen_faults_`` of a classifier, or what the mixture that it was fitted with resembles; nothing otherwise.

    >>> class Trained:
    ...     seen_faults_ = ("noise", "gap")
    >>> declared(Trained()), declared(object())
    (('noise', 'gap'), ())
    """
    said = getattr(told, "seen_faults_", None)
    if said is not None:
        return tuple(map(str, said))
    mixture = getattr(told, "faults_", None) or getattr(getattr(told, "training_", None), "faults", None)
    kinds = getattr(mixture, "kinds", None)
    if kinds is None:
        return ()
    names = [str(getattr(kind, "kind", kind)) for kind in kinds]
    return tuple(dict.fromkeys(resembled for name in names for resembled in _RESEMBLE.get(name, (name,))))
