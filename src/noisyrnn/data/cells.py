"""Rows and columns before they mean anything: in blocks, by pyarrow where all rows are alike, else cell by cell.

pyarrow reads a table far faster than Python does, but has little to say about a table that is wrong. So each
block knows its rows twice: as columns of numbers, and one by one, for uneven rows and for the sentence that names the
line of a slip.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError

Row = tuple[int, Sequence[Any]]
"""The line where a row ends, and its cells."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Rows that follow each other: as a pyarrow.Table (None: they are not alike), and one by one, slowly."""

    table: Any | None
    rows: Iterable[Row]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Rows with the names of their columns (None: no header); ``blocks`` is told which columns hold text."""

    header: tuple[str, ...] | None
    width: Callable[[], int]
    blocks: Callable[[Collection[int]], Iterator[Block]]
    unit: str = "line"

    def column(self, name: str, file: str) -> int:
        """The place of a column, by its name."""
        if self.header is None:
            raise DataError(f"{file} has no header, so there is no column {name!r}: give the number of the column.")
        if name not in self.header:
            raise DataError(f"{file} has no column {name!r}: it has {shortened(self.header)}.")
        return self.header.index(name)

    def called(self, column: int) -> str:
        """A column as a sentence calls it: by its name if it has one."""
        if self.header is not None and column < len(self.header):
            return f"column {' '.join(self.header[column].split())[:40]!r}"
        return f"column {column} (from 0)"

    def place(self, line: int, column: int) -> str:
        """A cell as a sentence calls it."""
        return f"{self.unit} {line}, {self.called(column)}"


class Places:
    """Where the rows of a table stand in its file, found by going through it again."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.counts: list[int] = []

    def line(self, row: int) -> int:
        """The line of a row, counted from 0 and without blank ones."""
        for count, block in zip(self.counts, self.grid.blocks(()), strict=True):
            if row < count:
                return next(islice(block.rows, row, None))[0]
            row -= count
        raise IndexError(row)


def shortened(header: Sequence[str]) -> str:
    """A few of the names; with quotation marks astray, one of them may be half the file.

    >>> shortened([*"abcdefghij"])
    'a, b, c, d, .., h, i, j'
    """
    names = [" ".join(name.split())[:40] for name in header]
    return ", ".join(names if len(names) <= 8 else [*names[:4], "..", *names[-3:]])


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or a module of it: imported when the first table is read."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DataError("Tables need pyarrow: pip install pyarrow, or save the series as .npz.") from error


def refusals() -> tuple[type[Exception], ...]:
    """Whatever a damaged file makes Arrow say, of whichever of its many exceptions."""
    return (arrow().ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError)


def texts(column: Any) -> list[str]:
    """The cells of a column of labels or cases; a missing one is empty.

    >>> texts(arrow().array([1, None, 2]))
    ['1', '', '2']
    """
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]


def numbers_in(columns: Sequence[Any]) -> NDArray[np.float64]:
    """Columns side by side (row, column), NaN where a cell is empty; an Arrow exception where one is no number.

    >>> library = arrow()
    >>> numbers_in([library.chunked_array([[1, 2]]), library.chunked_array([["3.5", None]])]).tolist()
    [[1.0, 3.5], [2.0, nan]]
    """
    library = arrow()
    double = library.float64()
    cast = [column if column.type == double else column.cast(double) for column in columns]
    table = library.table(cast, names=[str(index) for index in range(len(cast))])
    parts = [batch.to_tensor(null_to_nan=True, row_major=True).to_numpy() for batch in table.to_batches()]
    return np.concatenate(parts) if parts else np.zeros((0, len(cast)))
