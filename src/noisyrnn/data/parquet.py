"""Parquet tables, batch by batch: a column of equal values takes a few bytes in the file, whatever its length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from noisyrnn.data.errors import DataError
from noisyrnn.data.grid import Grid, Row
from noisyrnn.data.limit import Room, refuse_beyond

_ROWS = 1024  # of one batch


def parse(content: bytes, *, file: str) -> Grid:
    """Cells of a Parquet file with the names of its columns."""
    try:
        arrow, library = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{file}: Parquet needs pyarrow: pip install pyarrow, or save the table as CSV.") from error
    # Whatever a damaged file makes Arrow say, of whichever of its many exceptions.
    failures = (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError)
    rows = _Rows(content=content, file=file, arrow=arrow, library=library, failures=failures)
    try:
        about = library.ParquetFile(arrow.BufferReader(content)).metadata
        chunks = [about.row_group(g).column(c) for g in range(about.num_row_groups) for c in range(about.num_columns)]
        announced = max(0, about.num_rows) * about.num_columns, sum(max(0, chunk.num_values) for chunk in chunks)
        unfolded = sum(max(0, chunk.total_uncompressed_size) for chunk in chunks)
        names = about.schema.to_arrow_schema().names
    except failures as error:
        raise rows.damage(error) from error
    refuse_beyond(max(*(8 * count for count in announced), unfolded), f"{file} unfolds to")
    return Grid(header=tuple(map(str, names)), rows=rows)


@dataclass(frozen=True, kw_only=True)
class _Rows:
    content: bytes
    file: str
    arrow: Any
    library: Any
    failures: tuple[type[Exception], ...]

    def __iter__(self) -> Iterator[Row]:
        number, room = 0, Room(self.file)
        try:
            for batch in self.library.ParquetFile(self.arrow.BufferReader(self.content)).iter_batches(_ROWS):
                refuse_beyond(batch.nbytes, f"{self.file} unfolds to")
                columns = [column.to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    number += 1
                    room.take(sum(len(cell) if isinstance(cell, list) else 1 for cell in cells))
                    yield number, cells
        except DataError:
            raise
        except self.failures as error:
            raise self.damage(error) from error

    def damage(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split())[:200]
        return DataError(f"{self.file} is not a whole Parquet file ({reason}): write it again.")
