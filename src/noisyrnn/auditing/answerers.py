"""Any classifier as one that is examined: the form of its series, its classes, its gradients, its identity."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from noisyrnn.auditing.series import Form, Series
from noisyrnn.experiments.record.published import load


class Misbehaviour(ValueError):
    """A classifier did what a classifier must not do; the message says what, in words for the page."""


@runtime_checkable
class Answerer(Protocol):
    """What stands between an audit and a classifier: series in a form -> scores (case, class), or classes."""

    kind: str
    classes: tuple[Any, ...] | None
    probabilities: bool

    def forms(self, series: Series) -> list[Form]: ...
    def ask(self, series: Series, form: Form) -> NDArray[Any]: ...
    def network(self, form: Form) -> Callable[..., Tensor] | None: ...
    def identity(self) -> bytes: ...


@dataclass
class Estimator:
    """An object with ``predict_proba`` or ``predict``: scikit-learn, aeon, sktime, ours, one's own."""

    told: Any
    kind: str = "classifier"

    def __post_init__(self) -> None:
        own = getattr(self.told, "classes_", None)
        self.classes = None if own is None else tuple(np.asarray(own).tolist())
        # Some have the method and refuse it when asked (a vote without probabilities): found out at the first question.
        self.probabilities = callable(getattr(self.told, "predict_proba", None))

    def forms(self, series: Series) -> list[Form]:
        possible: list[Form] = [form for form in series.forms() if form is not Form.TIME]
        # An estimator that was fitted on a table says how many columns it had.
        columns = getattr(self.told, "n_features_in_", None)
        flat = Form.FLAT in possible and columns == series.x.shape[1] * series.channels and columns != series.channels
        return sorted(possible, key=lambda form: form is not Form.FLAT) if flat else possible

    def ask(self, series: Series, form: Form) -> NDArray[Any]:
        method = self.told.predict_proba if self.probabilities else self.told.predict
        return np.asarray(method(series.given(form)))

    def network(self, form: Form) -> Callable[..., Tensor] | None:
        """Of a classifier of ours, from natural units to logits: its scaling, then its network without noise."""
        network, prepared = getattr(self.told, "network_", None), getattr(self.told, "preparation_", None)
        if not isinstance(network, nn.Module) or prepared is None or prepared.time_unit is not None:
            return None
        if getattr(self.told, "companion_", None) is not None:  # its answers have no gradients
            return None
        if prepared.scaling.value == "series" or prepared.missing.value != "refuse":
            return None
        scaled = prepared.scaling.value == "channel"
        mean, deviation = torch.tensor(prepared.mean), torch.tensor(prepared.deviation)

        def logits(x: Tensor, **call: Tensor) -> Tensor:
            z = (x - mean.to(x.dtype)) / deviation.to(x.dtype) if scaled else x
            if "lengths" in call:  # as in its own predictions: 0 beyond the end
                inside = torch.arange(z.shape[1]) < call["lengths"][:, None]
                z = torch.where(inside[..., None], z, 0.0)
            return network(z.float(), noise=False, **call)

        return logits

    def identity(self) -> bytes:
        return pickle.dumps(self.told)


@dataclass
class Module:
    """A torch module from series to logits, in evaluation mode while it is asked."""

    told: nn.Module
    kind: str = "torch module"
    classes: tuple[Any, ...] | None = None
    probabilities: bool = True

    def forms(self, series: Series) -> list[Form]:
        if getattr(self.told, "batch_first", None) or type(self.told).__module__.startswith("noisyrnn."):
            return [Form.TIME]
        if series.lengths is not None:
            return [Form.TIME]
        return [form for form in series.forms() if form is not Form.LIST]

    def ask(self, series: Series, form: Form) -> NDArray[Any]:
        network = self.network(form)
        called = {} if series.lengths is None else {"lengths": series.lengths}
        with torch.no_grad():
            return network(series.x, **called).double().softmax(-1).cpu().numpy()

    def network(self, form: Form) -> Callable[..., Tensor]:
        first = next(iter(self.told.parameters()), torch.zeros(()))

        def logits(x: Tensor, **call: Tensor) -> Tensor:
            training = self.told.training
            self.told.eval()
            try:
                found = self.told(_turned(x, form).to(first.device, first.dtype), **call)
            finally:
                self.told.train(training)
            return found[0] if isinstance(found, tuple) else found

        return logits

    def identity(self) -> bytes:
        stream = io.BytesIO()
        torch.save(self.told.state_dict(), stream)
        return repr(self.told).encode() + stream.getvalue()


class OnnxFile:
    """An ONNX file, run by onnxruntime on one thread: probabilities, logits or labels, whatever it gives."""

    kind = "ONNX file"
    classes: tuple[Any, ...] | None = None

    def __init__(self, path: Path) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise ValueError(f"{path} is an ONNX file: install onnxruntime to audit it.") from error
        self._path = path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        except OSError:
            raise
        except Exception as error:  # onnxruntime has a family of its own
            raise ValueError(f"{path} cannot be read as ONNX ({_first_line(error)}): export it again.") from error
        self._inputs = self._session.get_inputs()
        self.classes = _classes_of(self._session.get_modelmeta().custom_metadata_map)
        outputs = self._session.get_outputs()
        floats = [one.name for one in outputs if "float" in one.type or "double" in one.type]
        self._output = next((name for name in floats if "prob" in name.lower()), (floats or [outputs[0].name])[0])
        self.probabilities = bool(floats)

    def forms(self, series: Series) -> list[Form]:
        shape = self._inputs[0].shape
        if len(shape) == 2:
            return [Form.FLAT]
        possible = [Form.CHANNELS, Form.TIME] if series.lengths is None else [Form.TIME]
        sizes = {Form.CHANNELS: (series.channels, series.x.shape[1]), Form.TIME: (series.x.shape[1], series.channels)}
        fits = [f for f in possible if all(isinstance(a, str) or a in (None, b) for a, b in zip(shape[1:], sizes[f]))]  # noqa: B905
        return fits or possible

    def ask(self, series: Series, form: Form) -> NDArray[Any]:
        first = self._inputs[0]
        dtype = np.float64 if "double" in first.type else np.float32
        fed: dict[str, Any] = {first.name: np.ascontiguousarray(series.given(form), dtype=dtype)}
        for one in self._inputs[1:]:
            if "length" not in one.name:
                raise Misbehaviour(f"has an input {one.name!r} that an audit cannot fill")
            ends = torch.full((len(series),), series.x.shape[1]) if series.lengths is None else series.lengths
            fed[one.name] = ends.numpy()
        found = np.asarray(self._session.run([self._output], fed)[0])
        if not self.probabilities:
            return found
        # Logits or probabilities: what is not one already becomes a distribution.
        rows = found.astype(np.float64)
        if rows.ndim == 2 and not (np.all(rows >= -1e-6) and np.allclose(rows.sum(1), 1, atol=1e-4)):
            rows = torch.from_numpy(rows).softmax(-1).numpy()
        return rows

    def network(self, form: Form) -> None:
        return None

    def identity(self) -> bytes:
        return self._path.read_bytes()


def _classes_of(metadata: dict[str, str]) -> tuple[Any, ...] | None:
    """Names of the classes, where a file of ours says them."""
    try:
        found = json.loads(metadata.get("classes", "null"))
    except ValueError:
        return None
    return tuple(found) if isinstance(found, list) else None


def _turned(x: Tensor, form: Form) -> Tensor:
    if form is Form.TIME:
        return x
    return x.transpose(1, 2) if form is Form.CHANNELS else x.transpose(1, 2).flatten(1)


def _first_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."


def answerer(told: Any) -> Answerer:
    """What asks a classifier: by what it is.

    >>> from sklearn.dummy import DummyClassifier
    >>> answerer(DummyClassifier()).kind
    'classifier'
    """
    if isinstance(told, (str, Path)):
        return _from_path(Path(told))
    if isinstance(told, nn.Module):
        return Module(told)
    if callable(getattr(told, "predict_proba", None)) or callable(getattr(told, "predict", None)):
        return Estimator(told)
    raise ValueError(
        f"{type(told).__name__} is no classifier that an audit can ask: give an object with predict_proba or predict, "
        "a torch module, an ONNX file, or a saved model."
    )


def _from_path(path: Path) -> Answerer:
    if path.suffix.lower() == ".onnx":
        if not path.is_file():
            raise ValueError(f"{path} does not exist: check the path.")
        return OnnxFile(path)
    if path.is_dir():
        # Imported by name: whoever audits ONNX files does not wait for it.
        return answerer(import_module("noisyrnn.estimator").NoisyRNNClassifier.load(path))
    return answerer(load(path))


def fingerprint(asked: Answerer, clean: bytes) -> str:
    """sha256 of what the classifier is and of its answers to the undisturbed series."""
    digest = hashlib.sha256(asked.kind.encode() + clean)
    try:
        digest.update(asked.identity())
    except Exception:  # what cannot be pickled is known by its answers and its name
        digest.update(repr(type(getattr(asked, "told", asked))).encode())
    return digest.hexdigest()
