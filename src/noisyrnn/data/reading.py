"""A file of series, by its ending: .csv .tsv .txt .ts .arff .npz .parquet, text also with .gz."""

from __future__ import annotations

import io
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np

from noisyrnn.data import arff, grid, ts
from noisyrnn.data.errors import DataError
from noisyrnn.data.files import uncompressed
from noisyrnn.data.grid import Columns, Grid
from noisyrnn.data.sequences import Sequences, stacked

_DELIMITERS = {".csv": None, ".tsv": "\t", ".txt": " "}


def read(path: Path | str, columns: Columns | None = None) -> Sequences:
    """Series and labels of a file.

    A .npz file holds ``x`` (batch, time, feature) or (batch, time), and may hold ``y`` and ``lengths``.
    """
    path = Path(path)
    return contents(uncompressed(path), path.name.removesuffix(".gz"), columns)


def contents(content: bytes, file: str, columns: Columns | None = None) -> Sequences:
    """Series and labels of a file's content; the ending of its name tells the format.

    >>> contents(b"1,5,6\\n2,7,8", "own.csv").labels
    ('1', '2')
    """
    columns = columns or Columns()
    suffix = Path(file).suffix.lower()
    if suffix == ".npz":
        return _arrays(content, file, columns)
    if suffix in {".parquet", ".pq"}:
        return grid.series(_parquet(content, file), columns, file=file)
    if suffix not in {*_DELIMITERS, ".ts", ".arff"}:
        known = ".csv .tsv .txt .ts .arff .npz or .parquet"
        raise DataError(f"{file}: the ending {suffix!r} is not known: use {known}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not text in UTF-8 (byte {error.start}): save it as UTF-8.") from error
    if suffix == ".ts":
        return ts.read(text, file=file, padded=columns.padded)
    if suffix == ".arff":
        label = columns.label if isinstance(columns.label, str) else None
        return arff.read(text, file=file, label=label, padded=columns.padded)
    cells = grid.delimited(text, delimiter=_DELIMITERS[suffix], label=columns.label)
    return grid.series(cells, columns, file=file)


def _arrays(content: bytes, file: str, columns: Columns) -> Sequences:
    try:
        # Objects would be unpickled, which runs what the file says: plain arrays only.
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            held = {name.lower(): arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{file} is not an .npz file of plain arrays ({error}): save it with np.savez.") from error
    if "x" not in held:
        raise DataError(f"{file} has no array x: it has {', '.join(held) or 'none'}.")
    x = held["x"]
    x = x[..., None] if x.ndim == 2 else x
    if x.ndim != 3 or x.dtype.kind not in "fiub":
        raise DataError(f"{file}: x must be numbers (batch, time, feature), got {x.dtype} {held['x'].shape}.")
    lengths = held.get("lengths", np.full(len(x), x.shape[1]))
    if lengths.shape != (len(x),) or (len(x) and not 1 <= lengths.min() <= lengths.max() <= x.shape[1]):
        raise DataError(f"{file}: lengths must give each of the {len(x)} series 1 to {x.shape[1]} instants.")
    y = held.get("y") if columns.labelled else None
    if y is not None and y.shape != (len(x),):
        raise DataError(f"{file}: y must hold one class for each of the {len(x)} series, got shape {y.shape}.")
    series = [one[:length].astype(np.float64) for one, length in zip(x, lengths, strict=True)]
    labels = None if y is None else [str(label) for label in y.tolist()]
    return stacked(series, labels, file=file, padded=columns.padded)


def _parquet(content: bytes, file: str) -> Grid:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{file}: Parquet needs pyarrow: pip install pyarrow, or save the table as CSV.") from error
    try:
        table = parquet.read_table(arrow.BufferReader(content))
    except arrow.ArrowInvalid as error:
        raise DataError(f"{file} is not a whole Parquet file ({error}): write it again.") from error
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return Grid(header=tuple(table.column_names), rows=rows, lines=range(1, len(rows) + 1))
