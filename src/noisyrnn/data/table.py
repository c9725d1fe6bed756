"""One's own data, from any file that :func:`noisyrnn.data.read` knows, with a drawing that is recorded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.errors import DataError
from noisyrnn.data.files import File, Source
from noisyrnn.data.formats import contents
from noisyrnn.data.grid import Columns
from noisyrnn.data.sampling import stratified
from noisyrnn.data.sequences import Sequences, classes
from noisyrnn.data.setting import DataSetting, divide, join
from noisyrnn.data.split import Provenance, Splits

Fraction = Annotated[float, Field(ge=0, lt=1)]


class Table(DataSetting):
    """A file of one's own, divided class by class for training, validation and test, or with a test file.

    ``label`` names the column of the classes, or counts it from 0; left out, it is a column called label,
    class, target or y, or without a header the first. ``case`` and ``time`` describe a table with one
    instant per row. ``padded`` says that NaN at the end of a series is its end.

    >>> Table(path="own.csv", label="state").model_dump_json(include={"kind", "label"})
    '{"kind":"table","label":"state"}'
    """

    kind: Literal["table"] = "table"
    path: Path
    test_path: Path | None = None
    label: str | int | None = None
    case: str | None = None
    time: str | None = None
    padded: bool = False
    validation: Fraction = 0.2
    test: Fraction = 0.2
    split_seed: int = Field(default=0, ge=0, lt=2**32)

    @override
    def sources(self) -> tuple[Source, ...]:
        return ()

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        columns = Columns(label=self.label, case=self.case, time=self.time, padded=self.padded)
        parts: list[Sequences] = []
        records: list[Provenance] = []
        for path in (self.path, self.test_path):
            if path is None:
                continue
            content = read_uncompressed(path)
            part = contents(content, path.name.removesuffix(".gz"), columns)
            if part.labels is None:
                raise DataError(f"{path.name} has no labels: training and testing need them.")
            if parts and part.x.shape[2] != parts[0].x.shape[2]:
                raise DataError(f"{path.name} has {part.x.shape[2]} features, the training file another number.")
            digest = hashlib.sha256(content).hexdigest()
            parts.append(part)
            records.append(Provenance(file=path.name, sha256=digest, source="own file", verified=False))
        whole = join(parts)
        names, y = classes(whole.labels or ())
        first = len(parts[0])
        aside = (round(self.validation * first), 0 if self.test_path else round(self.test * first))
        if first <= sum(aside):
            raise DataError(f"{self.path.name} holds {first} series, too few to set {sum(aside)} of them aside.")
        train, validation, test = stratified(y[:first], (first - sum(aside), *aside), self.split_seed)
        given = np.arange(first, len(y), dtype=np.int64)
        return divide(
            whole.x,
            y,
            (train, validation, given if self.test_path else test),
            classes=names,
            rule="stratified, test file as given" if self.test_path else "stratified",
            seed=self.split_seed,
            provenance=records,
            lengths=whole.lengths,
        )
