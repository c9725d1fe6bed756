"""Series whose answers are known, and classifiers that behave and misbehave."""

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def waves(count=120, steps=40, seed=0, channels=1):
    """Slow and fast waves with some noise: (case, channel, time) and names of classes."""
    rng = np.random.default_rng(seed)
    y = np.array(["slow", "fast"])[np.arange(count) % 2]
    speed = np.where(y == "slow", 1.0, 2.0)[:, None, None]
    turn = np.linspace(0, 6.28, steps) + 0.5 * np.arange(channels)[:, None]
    x = np.sin(speed * turn + rng.uniform(0, 0.8, (count, 1, 1))) + 0.4 * rng.normal(size=(count, channels, steps))
    return x, y


def fitted(x, y):
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.3)).fit(x.reshape(len(x), -1), y)


class Labels:
    """A classifier of labels only, by a function of (case, channel, time)."""

    def __init__(self, rule, classes=None):
        self.rule = rule
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict(self, X):
        X = np.asarray(X)
        if X.ndim != 3:
            raise ValueError("wants (case, channel, time)")
        return self.rule(X)


class Probabilities:
    def __init__(self, rule, classes):
        self.rule, self.classes_ = rule, np.array(classes)

    def predict_proba(self, X):
        return self.rule(np.asarray(X))


class AeonShaped:
    """A scikit-learn classifier behind the shapes of aeon."""

    def __init__(self, inner):
        self.inner = inner
        self.classes_ = inner.classes_

    def predict_proba(self, X):
        if not isinstance(X, np.ndarray) or X.ndim != 3:
            raise ValueError("X must be 3D (n_cases, n_channels, n_timepoints)")
        return self.inner.predict_proba(X.reshape(len(X), -1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]


class Plain:
    """Own code: a function of a list of series, no base class, no classes_."""

    def __init__(self, inner):
        self.inner = inner

    def predict_proba(self, X):
        if not isinstance(X, list):
            raise TypeError("wants a list")
        return self.inner.predict_proba(np.stack([one.ravel() for one in X]))


def as_module(pipeline, steps):
    """The same logistic regression as logits of torch: (case, time) in."""
    scaler, regression = pipeline[0], pipeline[-1]
    weight = torch.tensor(regression.coef_ / scaler.scale_)
    bias = torch.tensor(regression.intercept_) - weight @ torch.tensor(scaler.mean_)
    module = torch.nn.Linear(steps, 2).double()
    with torch.no_grad():
        module.weight.copy_(torch.cat([torch.zeros_like(weight), weight]))
        module.bias.copy_(torch.cat([torch.zeros_like(bias), bias]))
    return module
