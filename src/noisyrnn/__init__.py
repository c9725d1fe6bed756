"""Recurrent networks trained with noise in their hidden states and used without it.

Layers, called like ``torch.nn.RNN``: NoisyRNN, LipschitzRNN, AntisymmetricRNN, CoRNN, ExpRNN, ClassicRNN; Layer for own
cells. Classifier reads out the last state. ``noisyrnn.sde`` has one instant: drifts, diffusions, schemes, noise.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisyrnn import models, rnn, sde
    from noisyrnn.models import (
        AntisymmetricRNN,
        ClassicRNN,
        Convention,
        CoRNN,
        ExpRNN,
        LipschitzRNN,
        NoisyRNN,
        matched_strengths,
        preset,
    )
    from noisyrnn.rnn import Cell, Classifier, Layer, Route, SDECell, Stream, routed
    from noisyrnn.sde import Key

# Names are looked up on first use, so that `import noisyrnn` and the command line's --help do not wait for torch.
_HOMES = {
    **dict.fromkeys(("models", "rnn", "sde"), ""),
    **dict.fromkeys(
        (
            "AntisymmetricRNN", "ClassicRNN", "CoRNN", "Convention", "ExpRNN", "LipschitzRNN", "NoisyRNN",
            "matched_strengths", "preset",
        ),
        "models",
    ),
    **dict.fromkeys(("Cell", "Classifier", "Layer", "Route", "SDECell", "Stream", "routed"), "rnn"),
    **dict.fromkeys(("Key",), "sde"),
}  # fmt: skip

try:
    __version__ = version("noisyrnn")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+source"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'noisyrnn' has no attribute {name!r}")
    home = _HOMES[name]
    found = import_module(f"noisyrnn.{name}") if not home else getattr(import_module(f"noisyrnn.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AntisymmetricRNN",
    "Cell",
    "ClassicRNN",
    "Classifier",
    "CoRNN",
    "Convention",
    "ExpRNN",
    "Key",
    "Layer",
    "LipschitzRNN",
    "NoisyRNN",
    "Route",
    "SDECell",
    "Stream",
    "__version__",
    "matched_strengths",
    "models",
    "preset",
    "rnn",
    "routed",
    "sde",
]
