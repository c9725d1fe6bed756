"""Two small networks under scikit-learn's laws: a fully convolutional one and an LSTM, trained in a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

EPOCHS, BATCH, LR = 80, 32, 2e-3


class FCN(nn.Module):
    """Three convolutions with batch normalisation, the mean over time, a readout (Wang, Yan, Oates 2017, small)."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        sizes = ((channels, 32, 7), (32, 64, 5), (64, 32, 3))
        layers = [
            nn.Sequential(nn.Conv1d(before, after, kernel, padding="same"), nn.BatchNorm1d(after), nn.ReLU())
            for before, after, kernel in sizes
        ]
        self.layers, self.readout = nn.Sequential(*layers), nn.Linear(32, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(self.layers(x).mean(-1))


class LSTM(nn.Module):
    """One layer of 64 units, and a linear layer on its last state."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.layer, self.readout = nn.LSTM(channels, 64, batch_first=True), nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(self.layer(x.transpose(1, 2))[0][:, -1])


class Network:
    """Scaled by the training set's channels, 80 epochs of Adam with a falling rate, the last weights.

    >>> x = np.sin(np.outer(1 + np.arange(8) % 2, np.linspace(0, 6, 20)))[:, None]
    >>> Network(FCN).fit(x, np.arange(8) % 2).predict(x).tolist()
    [0, 1, 0, 1, 0, 1, 0, 1]
    """

    def __init__(self, build: Callable[[int, int], nn.Module], seed: int = 0) -> None:
        self.build, self.seed = build, seed

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Network:
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.mean, self.deviation = X.mean((0, 2), keepdims=True), X.std((0, 2), keepdims=True) + 1e-8
        x, target = self._scaled(X), torch.from_numpy(labels)
        generator = torch.Generator().manual_seed(self.seed)
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.network = self.build(x.shape[1], len(self.classes_))
        optimiser = torch.optim.Adam(self.network.parameters(), lr=LR)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
        self.network.train()
        for _ in range(EPOCHS):
            for part in torch.randperm(len(x), generator=generator).split(BATCH):
                if len(part) < 2:  # batch normalisation needs company
                    continue
                loss = nn.functional.cross_entropy(self.network(x[part]), target[part])
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
                optimiser.step()
            schedule.step()
        self.network.eval()
        return self

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            parts = [self.network(part).softmax(-1) for part in self._scaled(np.asarray(X)).split(256)]
        return torch.cat(parts).double().numpy()

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.classes_[self.predict_proba(X).argmax(1)]

    def _scaled(self, X: NDArray[Any]) -> Tensor:
        return torch.from_numpy((X - self.mean) / self.deviation).float()
