"""Files of one's own as series and labels, read for a new classifier or for one that is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data import Columns, DataError, read
from noisyrnn.data.sequences import Sequences, classes


class Reading(NamedTuple):
    """How a table is read: columns of the class, of the series' names and of time; whether values may be missing."""

    target: str | None = None
    case: str | None = None
    time: str | None = None
    gaps: bool = False

    def columns(self, *, labelled: bool = True) -> Columns:
        """The same for the readers of files."""
        named = self.target
        label = int(named) if named is not None and named.lstrip("-").isdigit() else named
        return Columns(label=label, case=self.case, time=self.time, labelled=labelled, gaps=self.gaps)


@dataclass(frozen=True)
class OwnData:
    """Series as a classifier takes them, their labels as text, and the file's name."""

    X: Any
    labels: NDArray[Any] | None
    file: str

    def __len__(self) -> int:
        return len(self.X)


def own_data(path: Path, reading: Reading) -> OwnData:
    """Series with labels, for training or evaluation."""
    found = read(path, reading.columns())
    if found.labels is None:
        raise DataError(f"{path} has no labels: name their column with --target, or add them.")
    names, codes = classes(found.labels)
    return OwnData(_series(found), np.array(names)[codes], str(path))


def unlabelled_data(path: Path, reading: Reading, *, features: int | None) -> OwnData:
    """Series for prediction: labels may be there or not, and are not looked at.

    A table without a header is taken to have no labels when it has as many columns as the classifier has instants.
    """
    unlabelled = reading._replace(target=None).columns(labelled=False)
    try:
        found = read(path, reading.columns())
    except DataError as error:
        try:
            return OwnData(_series(read(path, unlabelled)), None, str(path))
        except DataError:
            raise error from None  # which knows what the file was to be
    if features is not None and found.x.shape[1] == features - 1 and found.x.shape[2] == 1:
        plain = read(path, unlabelled)
        found = plain if plain.x.shape[1] == features else found
    return OwnData(_series(found), None, str(path))


def _series(found: Sequences) -> Any:
    """(n, T) of one channel and one length, (n, channels, T) of more, a list of (channels, T_i) of unequal ones."""
    turned = found.x.transpose(0, 2, 1).astype(np.float64)
    if found.lengths is not None:
        return [one[:, :end] for one, end in zip(turned, found.lengths.tolist(), strict=True)]
    return turned


def refuse_unknown(labels: NDArray[Any], known: NDArray[Any], file: str) -> None:
    """Nothing, if every label is a class of the classifier."""
    names = {str(one) for one in known.tolist()}
    for index, label in enumerate(labels.tolist()):
        if str(label) not in names:
            shown = ", ".join(sorted(names)[:8])
            raise DataError(
                f"{file}: series {index + 1} has the label {str(label)[:40]!r}, not of the training: known are {shown}."
            )
