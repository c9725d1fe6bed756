"""Parquet tables, batch by batch: a column of equal values takes a few bytes in the file, whatever its length."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from noisyrnn.data.cells import Block, Grid, Row, arrow, refusals
from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import Room, refuse_beyond
from noisyrnn.data.parquet_footer import announced

_CELLS = 1 << 20  # of one batch, if it has so many rows
_ROWS = 1024


def parse(content: bytes, *, file: str) -> Grid:
    """Cells of a Parquet file with the names of its columns."""
    held = _File(content=content, file=file)
    try:
        about = held.opened().metadata
        schema = about.schema.to_arrow_schema()
        names = schema.names
        unfolded = sum(max(0, about.row_group(group).total_byte_size) for group in range(about.num_row_groups))
        largest = max(8 * max(0, about.num_rows) * about.num_columns, unfolded)
        if any(arrow().types.is_nested(kind) for kind in schema.types):  # a row of which may hold any number of values
            told = announced(content)
            largest = max(largest, 8 * told.values, told.unfolded)
    except refusals() as error:
        raise held.damage(error) from error
    refuse_beyond(largest, f"{file} unfolds to")
    return Grid(header=tuple(map(str, names)), width=lambda: len(names), blocks=held.blocks, unit="row")


@dataclass(frozen=True, kw_only=True)
class _File:
    content: bytes
    file: str

    def opened(self) -> Any:
        return arrow("pyarrow.parquet").ParquetFile(arrow().BufferReader(self.content))

    def blocks(self, text_columns: Collection[int]) -> Iterator[Block]:
        """The rows as blocks; what a column holds, the file says."""
        before, room = 0, Room(self.file)
        try:
            opened = self.opened()
            rows = max(_ROWS, _CELLS // max(1, opened.metadata.num_columns))
            for batch in opened.iter_batches(rows):
                refuse_beyond(batch.nbytes, f"{self.file} unfolds to")
                table = arrow().Table.from_batches([batch])
                room.take(_numbers(table), batch.num_rows)
                yield Block(table=table, rows=_Rows(table=table, before=before, held=self))
                before += batch.num_rows
        except DataError:
            raise
        except refusals() as error:
            raise self.damage(error) from error

    def damage(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split())[:200]
        return DataError(f"{self.file} is not a whole Parquet file ({reason}): write it again.")


@dataclass(frozen=True, kw_only=True)
class _Rows:
    table: Any
    before: int
    held: _File

    def __iter__(self) -> Iterator[Row]:
        try:
            columns = [column.to_pylist() for column in self.table.columns]
        except refusals() as error:  # text that is none
            raise self.held.damage(error) from error
        yield from enumerate(zip(*columns, strict=True), start=self.before + 1)


def _numbers(table: Any) -> int:
    """How many a table has, those in lists included."""
    lists = [column for column in table.columns if hasattr(column.type, "value_type")]
    inside = sum(len(chunk.flatten()) for column in lists for chunk in column.chunks if hasattr(chunk, "flatten"))
    return table.num_rows * (table.num_columns - len(lists)) + inside
