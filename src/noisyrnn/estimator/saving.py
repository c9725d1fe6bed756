"""A saved classifier: one directory with weights (safetensors), settings (JSON) and a model card (Markdown).

Nothing is pickled and nothing is executed. The weights carry the sum of the settings they belong to; a network is laid
out without memory first, and takes some only when names and shapes are those of the weights that are there.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from noisyrnn import __version__, checkpoint, disk
from noisyrnn.estimator.companion import Companion
from noisyrnn.estimator.fitting import constant_step
from noisyrnn.estimator.model_card import model_card
from noisyrnn.estimator.preparation import Preparation
from noisyrnn.estimator.random_convolutions import RandomConvolutionsSetting
from noisyrnn.models import FrontedSetting
from noisyrnn.setting import Added, Setting
from noisyrnn.train.one_cycle import OneCycle

if TYPE_CHECKING:
    from noisyrnn.estimator.classifier import NoisyRNNClassifier

WEIGHTS, SETTINGS, CARD = "model.safetensors", "model.json", "README.md"
_COMPANION = "companion."
_REMEDY = "give the directory that `save` or `noisyrnn fit` wrote"
_KINDS = "biufUO"


class UnknownModel(ValueError):
    """A directory is not a saved classifier; the message says why."""


class Saved(Setting):
    """All that a classifier is beside its weights."""

    format: Annotated[str, Field(pattern=r"^noisyrnn classifier 1$")] = "noisyrnn classifier 1"
    version: str
    classes: tuple[bool | int | float | str, ...] = Field(min_length=2, max_length=2**20)
    classes_dtype: str = Field(max_length=20)
    network: FrontedSetting
    companion: Annotated[RandomConvolutionsSetting | None, Added("0.2")] = None
    training: OneCycle
    preparation: Preparation
    form: str = Field(pattern=r"^(2d|3d|list)$")
    features: int | None = Field(default=None, ge=1)
    seed: int = Field(ge=0, lt=2**32)
    epochs: int = Field(default=0, ge=0)
    measured: dict[str, Any] = Field(default={})


def save_classifier(classifier: NoisyRNNClassifier, path: Path, *, measured: dict[str, Any]) -> Path:
    """The directory ``path`` with the classifier in it."""
    if classifier.network_setting_ is None:
        raise ValueError(
            "A classifier around a layer of one's own cannot be saved without code: save network_.state_dict() and "
            "build it again, or give model= by name or as a setting."
        )
    if path.is_file():
        raise disk.UnwritableFile(f"{path} is a file: name a directory for the model.")
    disk.check_directory(path)
    about = Saved(
        version=__version__,
        classes=tuple(classifier.classes_.tolist()),
        classes_dtype=classifier.classes_.dtype.str,
        network=classifier.network_setting_,
        companion=None if classifier.companion_ is None else classifier.companion_.convolutions.setting,
        training=classifier.training_,
        preparation=classifier.preparation_,
        form=classifier._form,
        features=getattr(classifier, "n_features_in_", None),
        seed=classifier.seed_,
        epochs=classifier.n_iter_,
        measured=measured,
    )
    text = about.model_dump_json(indent=1).encode()
    header = checkpoint.Header(
        inputs=about.preparation.inputs,
        classes=len(about.classes),
        seed=about.seed,
        about={"settings": hashlib.sha256(text).hexdigest()},
        contracts=(2,),
    )
    disk.save(path / SETTINGS, text)
    disk.save(path / CARD, model_card(about).encode())
    weights = classifier.network_.state_dict()
    if classifier.companion_ is not None:  # in the same file, so that no kill parts them
        weights |= {_COMPANION + name: one for name, one in classifier.companion_.state_dict().items()}
    checkpoint.save(path / WEIGHTS, checkpoint.Checkpoint(header=header, network=weights))
    return path


def load_classifier(path: Path, kind: type[NoisyRNNClassifier]) -> NoisyRNNClassifier:
    """The classifier in the directory ``path``."""
    if not path.is_dir():
        state = "is a file, not a directory with a model" if path.exists() else "does not exist"
        raise UnknownModel(f"{path} {state}: {_REMEDY}.")
    try:
        text = disk.read(path / SETTINGS)
    except FileNotFoundError as error:
        raise UnknownModel(f"{path} has no {SETTINGS}: {_REMEDY}.") from error
    about = disk.read_as(Saved, path / SETTINGS, what="the settings of a classifier", remedy=_REMEDY)
    held = checkpoint.load(path / WEIGHTS)
    if held.header.about.get("settings") != hashlib.sha256(text).hexdigest():
        raise UnknownModel(
            f"{path / SETTINGS} does not belong to the weights beside it, or was altered: save it again."
        )
    inputs, classes, companion = about.preparation.inputs, len(about.classes), None
    with torch.device("meta"):  # shapes without memory
        try:
            network = about.network.build(inputs, classes)
            if about.companion is not None:
                companion = Companion(about.companion, inputs, classes)
        except (ValueError, RuntimeError, OverflowError) as error:
            raise UnknownModel(f"{path} describes a network that cannot be built ({error}): {_REMEDY}.") from error
    own = {name: one for name, one in held.network.items() if companion is None or not name.startswith(_COMPANION)}
    checkpoint.restore(network, replace(held, network=own), path=path / WEIGHTS)
    if companion is not None:
        beside = {name.removeprefix(_COMPANION): one for name, one in held.network.items() if name not in own}
        checkpoint.restore(companion, replace(held, network=beside), path=path / WEIGHTS)
    network.eval()
    classifier = kind(
        about.network.model,
        front_end=about.network.front_end,
        readout=about.network.model.pooling.value,
        causal=network.causal,
        companion=about.companion,
        faults=about.training.faults,
        input_noise=about.training.input_noise,
        batch_size=about.training.batch,
        lr=about.training.lr,
        weight_decay=about.training.weight_decay,
        label_smoothing=about.training.label_smoothing,
        scaling=about.preparation.scaling.value,
        missing=None if about.preparation.missing.value == "refuse" else about.preparation.missing.value,
        random_state=about.seed,
    )
    classifier.classes_ = _classes(about, path)
    classifier.network_, classifier.network_setting_, classifier.companion_ = network, about.network, companion
    classifier.training_, classifier.preparation_ = about.training, about.preparation
    classifier.seed_, classifier._form, classifier.step_ = about.seed, about.form, constant_step(network)
    classifier.history_ = {"epoch": [], "loss": [], "validation_accuracy": [], "seconds": []}
    classifier.skipped_steps_, classifier.n_iter_ = 0, about.epochs
    classifier.measured_ = about.measured
    if about.features is not None:
        classifier.n_features_in_ = about.features
    return classifier


def _classes(about: Saved, path: Path) -> NDArray[Any]:
    try:
        dtype = np.dtype(about.classes_dtype)
        if dtype.kind not in _KINDS or dtype.hasobject != (dtype.kind == "O"):
            raise TypeError(f"{dtype} is no type of labels")
        if dtype.kind == "U":
            return np.array([str(one) for one in about.classes])
        return np.array(about.classes, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnknownModel(f"{path / SETTINGS} has classes that cannot be read ({error}): {_REMEDY}.") from error
