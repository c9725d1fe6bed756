"""What all data sets share: a setting names its sources, and divides their content into splits.

A source is a file with its checksum, where it may lie, and who offers it (``data.files``); none is needed for data that
are made or come with a package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn.data.files import File, Source
from noisyrnn.data.sampling import Indices, fingerprint
from noisyrnn.data.sequences import Sequences, refuse_padding
from noisyrnn.data.split import Drawing, Provenance, Split, Splits
from noisyrnn.setting import Setting


class DataSetting(Setting, ABC):
    """A data set as a value: frozen, keyword-only, and the same through JSON."""

    @abstractmethod
    def sources(self) -> tuple[Source, ...]:
        """Files that the data set is made of."""

    @abstractmethod
    def splits(self, files: tuple[File, ...]) -> Splits:
        """Training, validation and test data, from the verified files of :meth:`sources`."""


def divide(
    data: NDArray[Any],
    y: NDArray[np.int64],
    indices: tuple[Indices, Indices, Indices],
    *,
    classes: Sequence[str],
    rule: str,
    seed: int | None,
    provenance: Sequence[Provenance],
    lengths: NDArray[np.int64] | None = None,
    divisor: float = 1.0,
) -> Splits:
    """Splits of data / divisor (batch, time, feature) in single precision, and how they were drawn."""

    def split(chosen: Indices) -> Split:
        x = torch.from_numpy(data[chosen]).to(torch.float32)
        return Split(
            x=x if divisor == 1 else x.div_(divisor),
            y=torch.from_numpy(y[chosen]),
            lengths=None if lengths is None else torch.from_numpy(lengths[chosen]),
        )

    train, validation, test = indices
    return Splits(
        train=split(train),
        validation=split(validation),
        test=split(test),
        classes=tuple(classes),
        drawing=Drawing(
            rule=rule,
            seed=seed,
            sizes=(len(train), len(validation), len(test)),
            sha256=fingerprint(train, validation, test),
        ),
        provenance=tuple(provenance),
    )


def join(parts: Sequence[Sequences]) -> Sequences:
    """All series one after the other; shorter parts are filled with zeros, and lengths tell.

    >>> short = Sequences(x=np.ones((1, 1, 1), np.float32), lengths=None, labels=("a",))
    >>> long = Sequences(x=np.ones((1, 2, 1), np.float32), lengths=None, labels=("b",))
    >>> join([short, long]).lengths.tolist()
    [1, 2]
    """
    time = max(part.x.shape[1] for part in parts)
    refuse_padding((sum(map(len, parts)), time, parts[0].x.shape[2]), "The set")
    lengths = np.concatenate(
        [np.full(len(part), part.x.shape[1]) if part.lengths is None else part.lengths for part in parts]
    )
    x = np.concatenate([np.pad(part.x, ((0, 0), (0, time - part.x.shape[1]), (0, 0))) for part in parts])
    labels = tuple(label for part in parts for label in part.labels or ())
    return Sequences(x=x, lengths=None if (lengths == time).all() else lengths, labels=labels or None)
