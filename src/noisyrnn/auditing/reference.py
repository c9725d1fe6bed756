"""The yardstick of corruption errors: the label of the nearest training series, by Euclidean distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn.auditing.series import Series

NAME = "1-NN Euclidean (reference)"


class NearestNeighbour:
    """argmin_i |x - x_i|_2: deterministic, needs no choice, and knows nothing of faults; the first of equals wins."""

    def __init__(self, train: Series, labels: NDArray[Any]) -> None:
        self._x = train.x.flatten(1).float()
        self._labels = np.asarray(labels)
        self.classes_ = np.unique(self._labels)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """X (case, channel, time)."""
        x = torch.from_numpy(np.ascontiguousarray(np.asarray(X).transpose(0, 2, 1))).flatten(1).float()
        size = max(1, 2**24 // max(1, len(self._x)))
        nearest = [torch.cdist(part, self._x).argmin(1) for part in x.split(size)]
        return self._labels[torch.cat(nearest).numpy()]
