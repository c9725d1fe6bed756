"""``fit``: from series and classes to a trained network, with everything that was learned on the way."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d
from torch import nn

from noisyrnn.estimator.callbacks import Printed, Record
from noisyrnn.estimator.companion import fit_companion
from noisyrnn.estimator.design import companion_setting, network_around, network_setting, training
from noisyrnn.estimator.preparation import Missing, Preparation, Scaling, read_times
from noisyrnn.estimator.series import Series, read_series
from noisyrnn.randomness import stream
from noisyrnn.rnn.fronted import FrontedClassifier
from noisyrnn.sde.steps import ConstantStep
from noisyrnn.train.one_cycle import Reached, Samples, fit_one_cycle

if TYPE_CHECKING:
    from noisyrnn.estimator.classifier import NoisyRNNClassifier


def fit_classifier(estimator: NoisyRNNClassifier, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
    """The estimator's fitted attributes."""
    missing, scaling = _choice(Missing, estimator.missing or "refuse"), _choice(Scaling, estimator.scaling or "none")
    again = bool(estimator.warm_start) and hasattr(estimator, "network_")
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    series = read_series(X, estimator=estimator, reset=not again, allow_nan=missing is not Missing.REFUSE)
    targets = column_or_1d(y, warn=True)
    check_classification_targets(targets)
    check_consistent_length(series.x, targets)
    classes, codes = np.unique(targets, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes[0]!r}: a classifier needs at least two classes.")
    weights = _weights(estimator, series, targets, sample_weight)
    stamps = read_times(times, series)
    if again:
        _refuse_other_data(estimator, series, classes)
    else:
        estimator.classes_ = classes
        estimator._form = series.form
        estimator.seed_ = int(check_random_state(estimator.random_state).randint(2**31 - 1))
        estimator.n_iter_ = 0
        estimator.history_ = {"epoch": [], "loss": [], "validation_accuracy": [], "seconds": []}
    beside = companion_setting(estimator.companion, steps=series.x.shape[1], causal=bool(estimator.causal))
    kept, aside = _division(estimator, codes)
    if not again:
        within = None if stamps is None else stamps[kept]
        prepared = Preparation.of(series.part(kept), scaling=scaling, missing=missing, times=within)
        _build(estimator, prepared, steps=series.x.shape[1])
        if stamps is not None and estimator.step_ is None:
            raise ValueError("times need a model with a constant step size, such as 'noisy' or 'lipschitz'.")
    call = estimator.preparation_.step_sizes(stamps, series)
    x, lengths = estimator.preparation_.applied(series)
    samples = Samples(
        x=torch.from_numpy(x),
        y=torch.from_numpy(codes.astype(np.int64)),
        lengths=None if lengths is None else torch.from_numpy(lengths),
        dt=None if call is None else torch.from_numpy(call) * estimator.step_,
        weights=None if weights is None else torch.from_numpy(weights.astype(np.float32)),
    )
    own = samples.part(torch.from_numpy(kept))
    _train(estimator, own, None if aside is None else samples.part(aside))
    estimator.companion_ = None
    if beside is not None:
        found = fit_companion(
            beside, own, estimator.training_, seed=estimator.seed_, classes=len(classes), channels=series.channels
        )
        estimator.companion_ = found.to(next(estimator.network_.parameters()).device)


def _choice(kind: Any, given: Any) -> Any:
    try:
        return kind(given)
    except ValueError:
        known = ", ".join(repr(one.value) for one in kind)
        raise ValueError(f"{kind.__name__.lower()} must be None or one of {known}, got {given!r}.") from None


def _weights(estimator: Any, series: Series, targets: Any, sample_weight: Any) -> NDArray[np.float64] | None:
    """Weights of mean 1, or None where all are equal."""
    if sample_weight is None and estimator.class_weight is None:
        return None
    weights = np.ones(len(series)) if sample_weight is None else _check_sample_weight(sample_weight, series.x[:, :, 0])
    if (weights < 0).any() or not weights.sum() > 0:
        raise ValueError("sample_weight must not be negative, nor zero for all samples.")
    if estimator.class_weight is not None:
        weights = weights * compute_sample_weight(estimator.class_weight, targets)
    return weights / weights.mean()


def _division(estimator: Any, codes: NDArray[Any]) -> tuple[NDArray[np.int64], torch.Tensor | None]:
    """Samples to train on, and those held back for early stopping."""
    everything = np.arange(len(codes))
    if not estimator.early_stopping:
        return everything, None
    try:
        kept, aside = train_test_split(
            everything, test_size=estimator.validation_fraction, stratify=codes, random_state=estimator.seed_
        )
    except ValueError as error:
        raise ValueError(
            f"early_stopping holds back a part of each class, which does not work here ({str(error).rstrip('.')}): "
            "change validation_fraction, or train without early_stopping."
        ) from error
    return np.sort(kept), torch.from_numpy(np.sort(aside))


def _refuse_other_data(estimator: Any, series: Series, classes: NDArray[Any]) -> None:
    new = sorted(set(classes.tolist()) ^ set(estimator.classes_.tolist()), key=str)
    if new:
        raise ValueError(f"warm_start goes on with the classes that are known: {new[0]!r} is in one of y and classes_.")
    if series.channels != len(estimator.preparation_.mean):
        raise ValueError(f"warm_start goes on with {len(estimator.preparation_.mean)} channels, got {series.channels}.")


def _build(estimator: Any, prepared: Preparation, *, steps: int) -> None:
    """A fresh network; its weights depend on the seed alone."""
    choice = {"front_end": estimator.front_end, "readout": estimator.readout, "causal": estimator.causal}
    inputs, classes = prepared.inputs, len(estimator.classes_)
    setting = None
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(stream("estimator", "weights", estimator.seed_).get_state())
        if isinstance(estimator.model, nn.Module):
            layer = copy.deepcopy(estimator.model)  # an argument stays as it was given
            network = network_around(layer, steps=steps, inputs=inputs, classes=classes, **choice)
        else:
            setting = network_setting(
                estimator.model,
                hidden_size=estimator.hidden_size,
                hidden_noise=estimator.hidden_noise,
                steps=steps,
                **choice,
            )
            network = setting.build(inputs, classes)
    estimator.network_setting_, estimator.preparation_ = setting, prepared
    estimator.network_ = network.to(_device(estimator.device)).eval()
    estimator.step_ = constant_step(network)


def constant_step(network: FrontedClassifier) -> float | None:
    """The size of a step, where it is one number."""
    sizes = [getattr(cell, "step_size", None) for cell in getattr(network.layer, "cells", ())]
    return sizes[0].dt if sizes and isinstance(sizes[0], ConstantStep) else None


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise ValueError(
            f"device must be 'auto' or a device of torch, such as 'cpu' or 'cuda', got {name!r}."
        ) from error


def _train(estimator: Any, samples: Samples, aside: Samples | None) -> None:
    setting = training(
        len(samples),
        n_epochs=estimator.n_epochs,
        batch_size=estimator.batch_size,
        lr=estimator.lr,
        weight_decay=estimator.weight_decay,
        label_smoothing=estimator.label_smoothing,
        faults=estimator.faults,
        input_noise=estimator.input_noise,
    )
    callbacks = [*(estimator.callbacks or ()), *([Printed()] if estimator.verbose else [])]
    best, stale, weights = -1.0, 0, None
    before = estimator.n_iter_

    def end_of_epoch(reached: Reached) -> bool:
        nonlocal best, stale, weights
        record: Record = {**reached._asdict(), "validation_accuracy": None}
        if aside is not None:
            logits = estimator.through(aside.x, aside.call(), noise=False)
            record["validation_accuracy"] = float((logits.argmax(1) == aside.y).double().mean())
            improved = record["validation_accuracy"] > best
            stale = 0 if improved else stale + 1
            if improved:
                best = record["validation_accuracy"]
                weights = {name: one.detach().clone() for name, one in estimator.network_.state_dict().items()}
        for name, column in estimator.history_.items():
            column.append(record[name] + before if name == "epoch" else record[name])
        wishes = [callback(estimator, record) is True for callback in callbacks]
        return any(wishes) or (aside is not None and stale >= estimator.n_iter_no_change)

    seed = estimator.seed_ + before  # another order and other noise, where a training goes on
    whole = estimator.n_epochs == "auto" and before == 0
    estimator.training_ = setting
    estimator.skipped_steps_ = fit_one_cycle(
        estimator.network_, samples, setting, seed=seed, end_of_epoch=end_of_epoch,
        classes=len(estimator.classes_) if whole else None,
    )  # fmt: skip
    if weights is not None:
        estimator.network_.load_state_dict(weights)
    estimator.network_.zero_grad(set_to_none=True)
    estimator.n_iter_ = max(estimator.history_["epoch"], default=before)
