"""What a classifier said: a class and a probability for each series, as numbers that scores are made of."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOTHING = -1
"""The class of an answer that was none: NaN, a class that does not exist, an exception. It is always wrong."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """By series: the class as an index (-1: none), its probability, and the squared error of all probabilities.

    Probabilities are NaN where the classifier gives none.
    """

    label: NDArray[np.int32]
    confidence: NDArray[np.float32]
    brier: NDArray[np.float32]

    @classmethod
    def of(cls, label: NDArray[np.int32], y: NDArray[np.int64], probability: NDArray[np.float64] | None) -> Answers:
        """From classes and probabilities (case, class); NaN among the probabilities of a series is no answer."""
        if probability is None:
            nothing = np.full(len(label), np.nan, np.float32)
            return cls(label=label, confidence=nothing, brier=nothing)
        truth = np.zeros_like(probability)
        truth[np.arange(len(y)), y] = 1.0
        known = np.isfinite(probability).all(1)
        label = np.where(known, label, NOTHING).astype(np.int32)
        brier = ((probability - truth) ** 2).sum(1)
        return cls(label=label, confidence=probability.max(1).astype(np.float32), brier=brier.astype(np.float32))

    @classmethod
    def none(cls, count: int) -> Answers:
        """No answer to any series."""
        nan = np.full(count, np.nan, np.float32)
        return cls(label=np.full(count, NOTHING, np.int32), confidence=nan, brier=nan)

    @property
    def probabilistic(self) -> bool:
        """Whether there are probabilities."""
        return bool(np.isfinite(self.brier).any())

    def to_bytes(self) -> bytes:
        """As a file of numpy."""
        stream = io.BytesIO()
        np.savez(stream, label=self.label, confidence=self.confidence, brier=self.brier)
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, count: int) -> Answers:
        """Back from a file; ValueError if it is not one of ``count`` answers."""
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            found = cls(label=held["label"], confidence=held["confidence"], brier=held["brier"])
        kinds = [(one.dtype, one.shape) for one in (found.label, found.confidence, found.brier)]
        if kinds != [(np.dtype(kind), (count,)) for kind in (np.int32, np.float32, np.float32)]:
            raise ValueError("not the answers to these series")
        return found
