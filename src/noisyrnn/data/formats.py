"""A file of series, by its ending: .csv .tsv .txt .ts .arff .npz .parquet, text also with .gz."""

from __future__ import annotations

from pathlib import Path

from noisyrnn.data import arff, arrays, delimited, grid, parquet, ts
from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.errors import DataError
from noisyrnn.data.grid import Columns
from noisyrnn.data.sequences import Sequences

_DELIMITERS = {".csv": None, ".tsv": "\t", ".txt": " "}


def read(path: Path | str, columns: Columns | None = None) -> Sequences:
    """Series and labels of a file.

    A .npz file holds ``x`` (batch, time, feature) or (batch, time), and may hold ``y`` and ``lengths``.
    """
    path = Path(path)
    return contents(read_uncompressed(path), path.name.removesuffix(".gz"), columns)


def contents(content: bytes, file: str, columns: Columns | None = None) -> Sequences:
    """Series and labels of a file's content; the ending of its name tells the format.

    >>> contents(b"1,5,6\\n2,7,8", "own.csv").labels
    ('1', '2')
    """
    columns = columns or Columns()
    suffix = Path(file).suffix.lower()
    if suffix == ".npz":
        return arrays.read(content, file=file, columns=columns)
    if suffix in {".parquet", ".pq"}:
        return grid.series(parquet.parse(content, file=file), columns, file=file)
    if suffix not in {*_DELIMITERS, ".ts", ".arff"}:
        known = ".csv .tsv .txt .ts .arff .npz or .parquet"
        raise DataError(f"{file}: the ending {suffix!r} is not known: use {known}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not text in UTF-8 (byte {error.start}): save it as UTF-8.") from error
    if suffix == ".ts":
        return ts.read(text, file=file, padded=columns.padded, gaps=columns.gaps)
    if suffix == ".arff":
        label = columns.label if isinstance(columns.label, str) else None
        return arff.read(text, file=file, label=label, padded=columns.padded, gaps=columns.gaps)
    cells = delimited.parse_delimited(text, delimiter=_DELIMITERS[suffix], label=columns.label, file=file)
    return grid.series(cells, columns, file=file)
