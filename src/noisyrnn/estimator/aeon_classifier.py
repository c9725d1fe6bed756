"""The classifier for aeon: the same under its base class and tags. Needs ``pip install 'noisyrnn[aeon]'``.

Not imported by the room, because aeon is an extra: ``from noisyrnn.estimator.aeon_classifier import ...``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noisyrnn.estimator.classifier import NoisyRNNClassifier


def _base() -> Any:
    """aeon's base class; without aeon any other, so that the module can be read, and its absence is said later."""
    try:
        return import_module("aeon.classification.base").BaseClassifier
    except ImportError:
        return object


_Base: Any = _base()


class AeonNoisyRNNClassifier(_Base):
    """:class:`noisyrnn.NoisyRNNClassifier` as a classifier of aeon; its arguments mean the same."""

    _tags = {  # noqa: RUF012  (aeon reads a plain dict)
        "X_inner_type": ["np-list", "numpy3D"],
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "algorithm_type": "deeplearning",
        "python_dependencies": "torch",
    }

    def __init__(
        self,
        model: Any = "noisy",
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
        scaling: Any = "channel",
        class_weight: Any = None,
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
        self.scaling = scaling
        self.class_weight = class_weight
        self.callbacks = callbacks
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        if _Base is object:
            raise ImportError("aeon is not installed: pip install 'noisyrnn[aeon]'.")
        super().__init__()

    def _fit(self, X: Any, y: Any) -> AeonNoisyRNNClassifier:
        self.classifier_ = NoisyRNNClassifier(**self.get_params()).fit(X, y)
        return self

    def _predict(self, X: Any) -> Any:
        return self.classifier_.predict(X)

    def _predict_proba(self, X: Any) -> Any:
        return self.classifier_.predict_proba(X)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"n_epochs": 2, "hidden_size": 4, "random_state": 0}
