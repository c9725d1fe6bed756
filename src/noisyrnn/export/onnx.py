"""ONNX: a classifier with batch and time left open and lengths as a second input; and one step of its stream."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn import disk
from noisyrnn.estimator.classifier import NoisyRNNClassifier
from noisyrnn.estimator.preparation import Missing, Scaling
from noisyrnn.export.traceable import OneStep, Traceable

_BATCH, _TIME = 3, 11  # of the examples that are traced; both stay open


def export_onnx(classifier: NoisyRNNClassifier, path: str | Path) -> Path:
    """``path``, an ONNX file: x (batch, time, channels) in natural units and lengths (batch) -> probabilities.

    With missing="mask" x has twice the channels: values, the mean where missing, then 1 where there is one, else 0.
    The names of the classes are in the file's metadata.
    """
    mean, deviation = _scale(classifier)
    beside = copy.deepcopy(classifier.companion_)
    network = Traceable(_on_cpu(classifier), mean, deviation, beside and beside.cpu()).eval()
    width = 1 if network.front_end is None else network.front_end.width
    x = torch.randn(_BATCH, _TIME + width, len(mean))
    lengths = torch.tensor([_TIME + width, 1, _TIME])
    batch, time = torch.export.Dim("batch"), torch.export.Dim("time")
    shapes = {"x": {0: batch, 1: time}, "lengths": {0: batch}}
    return _write(classifier, network, (x, lengths), shapes, ["x", "lengths"], ["probabilities"], Path(path))


def export_step(classifier: NoisyRNNClassifier, path: str | Path) -> Path:
    """``path``, an ONNX file with one step of a causal classifier's stream.

    Inputs window (batch, width, channels), states, total, largest, count; outputs probabilities and the last four as
    they are to be given with the next step. A stream begins with zeros, and largest at -1e30; metadata have the sizes.
    """
    mean, deviation = _scale(classifier)
    network = OneStep(_on_cpu(classifier), mean, deviation).eval()
    if classifier.companion_ is not None:
        raise ValueError("A companion looks at whole series and has no step by itself: train with companion=None.")
    cells: Any = list(network.cells)
    width = 1 if network.front_end is None else network.front_end.width
    kept, units = sum(cell.arity for cell in cells), cells[-1].units
    example = (
        torch.randn(_BATCH, width, len(mean)),
        torch.zeros(_BATCH, kept, units),
        torch.zeros(_BATCH, units),
        torch.full((_BATCH, units), -1e30),
        torch.zeros(_BATCH, 1),
    )
    names = ["window", "states", "total", "largest", "count"]
    batch = torch.export.Dim("batch")
    shapes = {name: {0: batch} for name in names}
    outputs = ["probabilities", *(f"next_{name}" for name in names[1:])]
    return _write(classifier, network, example, shapes, names, outputs, Path(path))


def _on_cpu(classifier: NoisyRNNClassifier) -> Any:
    return copy.deepcopy(classifier.network_).cpu().eval()


def _scale(classifier: NoisyRNNClassifier) -> tuple[list[float], list[float]]:
    """Mean and deviation of each input; a channel that says what is missing is not scaled."""
    prepared = classifier.preparation_
    if prepared.scaling is Scaling.SERIES:
        raise ValueError("scaling='series' is not exported: train with scaling='channel'.")
    if prepared.missing is Missing.INTERPOLATE:
        raise ValueError("missing='interpolate' is not exported: train with missing='mask', or fill the gaps before.")
    if prepared.time_unit is not None:
        raise ValueError("A classifier with times is not exported: train it without times.")
    more = prepared.inputs - len(prepared.mean)
    if prepared.scaling is Scaling.NONE:
        return [0.0] * prepared.inputs, [1.0] * prepared.inputs
    return [*prepared.mean, *[0.0] * more], [*prepared.deviation, *[1.0] * more]


def _write(
    classifier: NoisyRNNClassifier,
    network: nn.Module,
    example: tuple[Tensor, ...],
    shapes: dict[str, Any],
    inputs: list[str],
    outputs: list[str],
    path: Path,
) -> Path:
    for package in ("onnx", "onnxscript"):
        if find_spec(package) is None:
            raise ValueError(f"Exporting needs {package}: pip install 'noisyrnn[onnx]'.")
    disk.check_file(path)
    with _silence():
        program: Any = torch.onnx.export(
            network,
            example,
            dynamo=True,
            dynamic_shapes=shapes,
            input_names=inputs,
            output_names=outputs,
            verbose=False,
        )
    front: Any = getattr(network, "front_end", None)
    about = {
        "classes": json.dumps([str(one) for one in classifier.classes_]),
        "channels": str(example[0].shape[2]),
        "stride": str(1 if front is None else front.stride),
        "width": str(1 if front is None else front.width),
    }
    model = program.model_proto
    for name, value in about.items():
        model.metadata_props.add(key=name, value=value)
    buffer = io.BytesIO(model.SerializeToString())
    return disk.save(path, buffer.getvalue())


@contextlib.contextmanager
def _silence() -> Any:
    """The exporter talks of packages that are not installed, and to developers of torch."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "torch.export", "onnx_ir")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)
