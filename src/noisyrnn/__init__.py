"""Recurrent networks trained with noise in their hidden states and used without it.

Layers, called like ``torch.nn.RNN``: NoisyRNN, LipschitzRNN, AntisymmetricRNN, CoRNN, ExpRNN, ClassicRNN; NoisyGRU,
MinGRU and LRU, which take the same noise; CertifiedRNN, which carries its own proof; Layer for own cells. Classifier
reads out the last state or a mean, Stream feeds either piece by piece, and ``load`` brings a saved one back.

For series of one's own: NoisyRNNClassifier, under scikit-learn's laws; FaultTrained makes any classifier robust.

Rooms: ``sde`` has one instant (drifts, diffusions, schemes, noise), ``rnn`` many, ``models`` the literature; ``data``,
``perturb``, ``attack`` and ``theory`` what is done with them; ``train``, ``evaluate``, ``experiments`` and ``report``
the way from a seed to a table; ``estimator`` and ``export`` what practitioners need. ``audit`` says how any
classifier of series fares when sensors fail.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from noisyrnn import (
        attack,
        auditing,
        data,
        estimator,
        evaluate,
        experiments,
        export,
        models,
        perturb,
        report,
        rnn,
        sde,
        theory,
        train,
    )
    from noisyrnn.auditing import audit
    from noisyrnn.estimator import FaultTrained, NoisyRNNClassifier
    from noisyrnn.models import (
        LRU,
        AntisymmetricRNN,
        CertifiedRNN,
        ClassicRNN,
        CoRNN,
        ExpRNN,
        LipschitzRNN,
        MinGRU,
        NoisyGRU,
        NoisyRNN,
        matched_strengths,
        preset,
    )
    from noisyrnn.rnn import Cell, Classifier, Layer, Route, SDECell, Stream, routed
    from noisyrnn.sde import Convention, Key

# Looked up on first use, so that `import noisyrnn` and the command line's --help do not wait for torch.
_ROOMS = (
    "attack", "auditing", "data", "estimator", "evaluate", "experiments", "export", "models", "perturb", "report",
    "rnn", "sde", "theory", "train",
)  # fmt: skip
_HOMES = {
    **dict.fromkeys(
        (
            "AntisymmetricRNN", "CertifiedRNN", "ClassicRNN", "CoRNN", "ExpRNN", "LRU", "LipschitzRNN", "MinGRU",
            "NoisyGRU", "NoisyRNN", "matched_strengths", "preset",
        ),
        "models",
    ),
    **dict.fromkeys(("Cell", "Classifier", "Layer", "Route", "SDECell", "Stream", "routed"), "rnn"),
    **dict.fromkeys(("Convention", "Key"), "sde"),
    **dict.fromkeys(("FaultTrained", "NoisyRNNClassifier"), "estimator"),
    "audit": "auditing",
}  # fmt: skip

try:
    __version__ = version("noisyrnn")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+source"


def load(path_or_name: str | Path, *, record: str | Path = "results") -> Classifier:
    """A ready network, in evaluation mode: from a checkpoint, or from a published record by its name.

    Parameters
    ----------
    path_or_name
        A file that this library wrote, or ``task/name`` as in the record's directory ``networks``.
    record
        The record that names are looked up in.

    Examples
    --------
    >>> import tempfile, torch
    >>> from pathlib import Path
    >>> from noisyrnn.checkpoint import Checkpoint, Header, save
    >>> setting = models.Noisy(hidden=4)
    >>> network = setting.build(inputs=1, classes=2)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path, about = Path(directory, "own.safetensors"), Header(model=setting, inputs=1, classes=2)
    ...     save(path, Checkpoint(header=about, network=network.state_dict()))
    ...     again = load(path)
    >>> again.training, torch.equal(again.readout.bias, network.readout.bias)
    (False, True)
    """
    from noisyrnn.experiments.record.published import load as ready

    return ready(path_or_name, record=record)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found: Any = import_module(f"noisyrnn.{name}")
    elif name in _HOMES:
        found = getattr(import_module(f"noisyrnn.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'noisyrnn' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "LRU",
    "AntisymmetricRNN",
    "Cell",
    "CertifiedRNN",
    "ClassicRNN",
    "Classifier",
    "CoRNN",
    "Convention",
    "ExpRNN",
    "FaultTrained",
    "Key",
    "Layer",
    "LipschitzRNN",
    "MinGRU",
    "NoisyGRU",
    "NoisyRNN",
    "NoisyRNNClassifier",
    "Route",
    "SDECell",
    "Stream",
    "__version__",
    "attack",
    "audit",
    "auditing",
    "data",
    "estimator",
    "evaluate",
    "experiments",
    "export",
    "load",
    "matched_strengths",
    "models",
    "perturb",
    "preset",
    "report",
    "rnn",
    "routed",
    "sde",
    "theory",
    "train",
]
