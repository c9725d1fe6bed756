"""``NoisyRNNClassifier``: a robust classifier of time series under scikit-learn's laws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from noisyrnn.estimator.fitting import fit_classifier
from noisyrnn.estimator.preparation import Missing, read_times
from noisyrnn.estimator.series import Series, read_series
from noisyrnn.randomness import stream

if TYPE_CHECKING:
    from noisyrnn.attack import Attack
    from noisyrnn.estimator.certificates import Certified
    from noisyrnn.estimator.robustness import Robustness
    from noisyrnn.estimator.streaming import ClassifierStream

_PIECE = 512  # series that go through the network at once


class NoisyRNNClassifier(ClassifierMixin, BaseEstimator):
    """Time series in, classes out: a recurrent network and random convolutions, trained on disturbed copies.

    Series are ``(n, T)``, ``(n, channels, T)``, a list of ``(channels, T_i)`` of any lengths, or a pandas frame.

    Parameters
    ----------
    model
        "noisy" (default), "lipschitz", "lstm" or any other model by name, a model's setting, or a layer of one's own.
    hidden_size
        Units of the recurrent layer in each direction, for a model by name.
    front_end
        "auto": a strided convolution that leaves about 64 steps; None; or a ``FrontEndSetting``.
    readout
        What is read out of the states over time: "mean-max", "mean" or "last".
    causal
        Look at the past only: one direction and a causal front end, which can be streamed.
    companion
        "auto": random convolutions beside the network, whose probabilities are averaged with its own, unless causal;
        None: the network alone; or a ``RandomConvolutionsSetting``.
    hidden_noise
        Strength of the noise in the hidden state of model="noisy", in training; none by default, because the faults
        leave it nothing to add (docs/classifier-table.md).
    input_noise
        Standard deviation of white noise on the scaled inputs, beside the faults.
    faults
        Sensor faults of the training: "default", None, or a ``FaultMixture``.
    n_epochs, batch_size, lr, weight_decay, label_smoothing
        The training; "auto" follows the size of the data (docs/classifier.md).
    early_stopping, validation_fraction, n_iter_no_change
        Hold back a part of each class, stop after that many epochs without a better accuracy there, keep the best.
    scaling
        "channel": by the training set's mean and deviation; "series": by each series' own; None.
    missing
        None: NaN is refused; "interpolate": filled between neighbours; "mask": 0, and a channel says where.
    class_weight
        None, "balanced", or a dict of weights.
    warm_start
        Whether another ``fit`` goes on from the weights that are there.
    callbacks
        Called as ``callback(estimator, record)`` after each epoch; True ends the training.
    random_state, device, verbose
        Seed; "auto", "cpu", "cuda"; 1 prints the training's course.

    Attributes
    ----------
    classes_, n_features_in_
        As of any classifier of scikit-learn.
    network_, network_setting_, training_, preparation_
        The network, its setting (None around a layer of one's own), the training's, and what was learned of the data.
    companion_
        The companion, or None.
    history_
        Lists by epoch: epoch, loss, validation_accuracy, seconds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["slow", "fast"] * 20)
    >>> t = np.linspace(0, 6.28, 50)
    >>> X = np.sin(np.where(y == "slow", 1, 2)[:, None] * t + rng.uniform(0, 6, (40, 1)))
    >>> classifier = NoisyRNNClassifier(n_epochs=40, hidden_size=16, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9, classifier.predict_proba(X[:1]).shape
    (True, (1, 2))
    """

    # Arguments are only stored here, by scikit-learn's law: fit says what is wrong with one.
    def __init__(
        self,
        model: Any = "noisy",
        *,
        hidden_size: Any = 64,
        front_end: Any = "auto",
        readout: Any = "mean-max",
        causal: Any = False,
        companion: Any = "auto",
        hidden_noise: Any = None,
        input_noise: Any = 0.0,
        faults: Any = "default",
        n_epochs: Any = "auto",
        batch_size: Any = "auto",
        lr: Any = 2e-3,
        weight_decay: Any = 0.01,
        label_smoothing: Any = 0.05,
        early_stopping: Any = False,
        validation_fraction: Any = 0.1,
        n_iter_no_change: Any = 20,
        scaling: Any = "channel",
        missing: Any = None,
        class_weight: Any = None,
        warm_start: Any = False,
        callbacks: Any = None,
        random_state: Any = None,
        device: Any = "auto",
        verbose: Any = 0,
    ) -> None:
        self.model = model
        self.hidden_size = hidden_size
        self.front_end = front_end
        self.readout = readout
        self.causal = causal
        self.companion = companion
        self.hidden_noise = hidden_noise
        self.input_noise = input_noise
        self.faults = faults
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scaling = scaling
        self.missing = missing
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self.missing is not None
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, times: Any = None) -> NoisyRNNClassifier:
        """Train on series X with classes y; ``times`` (n, T) are time stamps, where samples are not equally far apart.

        Series of unequal length take ``times`` padded to the longest.
        """
        fit_classifier(self, X, y, sample_weight, times)
        return self

    def predict(self, X: Any, *, times: Any = None) -> NDArray[Any]:
        """The likeliest class of each series."""
        check_is_fitted(self)
        return self.classes_[self.probabilities(*self.tensors(X, times)).argmax(1).numpy()]

    def predict_proba(self, X: Any, *, samples: int = 0, times: Any = None) -> NDArray[np.float64]:
        """Probabilities (n, classes), in the order of ``classes_``; with ``samples``, the mean over noisy passes.

        The noise of the passes follows from ``random_state``: the same call gives the same probabilities.
        """
        check_is_fitted(self)
        if samples < 0:
            raise ValueError(f"samples counts noisy passes and must be at least 0, got {samples}.")
        if samples and not any(getattr(cell, "noisy", False) for cell in getattr(self.network_.layer, "cells", ())):
            raise ValueError("samples need noise in the hidden state: train with hidden_noise=0.1, say.")
        return self.probabilities(*self.tensors(X, times), samples=samples).numpy()

    def robustness(self, X: Any, y: Any, *, attacks: Iterable[Attack] = (), **choice: Any) -> Robustness:
        """Accuracy under growing disturbances of each kind, and under attacks; ``.plot()`` draws the curves."""
        check_is_fitted(self)
        from noisyrnn.estimator.robustness import curves

        return curves(self, X, y, attacks=attacks, **choice)

    def certify(self, X: Any, *, sigma: float = 0.25, draws: int = 1000, alpha: float = 0.001) -> Certified:
        """A radius for each series, in units of the scaled data, within which the class cannot change.

        By the gain certificate where the network has one, else by randomised smoothing; the result says which.
        """
        check_is_fitted(self)
        from noisyrnn.estimator.certificates import certify

        return certify(self, X, sigma=sigma, draws=draws, alpha=alpha)

    def stream(self, streams: int | None = None) -> ClassifierStream:
        """What ``push(x_t)`` gives probabilities after each sample; ``streams`` of them side by side."""
        check_is_fitted(self)
        from noisyrnn.estimator.streaming import ClassifierStream

        return ClassifierStream(self, streams)

    def save(self, path: str | Path, *, measured: Mapping[str, Any] | None = None) -> Path:
        """One directory: weights (safetensors), settings (JSON), a model card (Markdown) with what was ``measured``."""
        check_is_fitted(self)
        from noisyrnn.estimator.saving import save_classifier

        return save_classifier(self, Path(path), measured=dict(measured or {}))

    @classmethod
    def load(cls, path: str | Path) -> NoisyRNNClassifier:
        """The classifier that :meth:`save` wrote; nothing in the directory is executed."""
        from noisyrnn.estimator.saving import load_classifier

        return load_classifier(Path(path), cls)

    def tensors(self, X: Any, times: Any = None) -> tuple[torch.Tensor, dict[str, Any]]:
        """X as the network sees it, (n, time, inputs), and what it is told beside: lengths and step sizes."""
        series = self.series(X)
        stamps = read_times(times, series)
        if stamps is None and self.preparation_.time_unit is not None:
            raise ValueError("This classifier was trained with times: give them here, too.")
        x, lengths = self.preparation_.applied(series)
        gaps = self.preparation_.step_sizes(stamps, series)
        call: dict[str, Any] = {}
        if lengths is not None:
            call["lengths"] = torch.from_numpy(lengths)
        if gaps is not None:
            call["dt"] = torch.from_numpy(gaps) * self.step_
        return torch.from_numpy(x), call

    def series(self, X: Any) -> Series:
        """X, checked against what the classifier was trained on."""
        return read_series(X, estimator=self, allow_nan=Missing(self.missing or Missing.REFUSE) is not Missing.REFUSE)

    @torch.no_grad()
    def probabilities(self, x: torch.Tensor, call: dict[str, Any], *, samples: int = 0) -> torch.Tensor:
        """What :meth:`predict_proba` gives, of series as :meth:`tensors` gives them."""
        if samples == 0:
            found = self.through(x, call, noise=False).double().softmax(1)
        else:
            generator = stream("estimator", "samples", self.seed_)
            passes = [self.through(x, call, noise=True, generator=generator) for _ in range(samples)]
            found = torch.stack(passes).double().softmax(2).mean(0)
        if self.companion_ is None:
            return found
        own = self.companion_(x.to(self.companion_.bias), call.get("lengths")).cpu().double().softmax(1)
        return (found + own) / 2

    @torch.no_grad()
    def through(self, x: torch.Tensor, call: dict[str, Any], **noise: Any) -> torch.Tensor:
        """Logits of the network alone, on the CPU, piece by piece."""
        device = next(self.network_.parameters()).device
        pieces = [slice(first, first + _PIECE) for first in range(0, len(x), _PIECE)]
        return torch.cat(
            [
                self.network_(
                    x[piece].to(device), **{name: one[piece].to(device) for name, one in call.items()}, **noise
                ).cpu()
                for piece in pieces
            ]
        )
