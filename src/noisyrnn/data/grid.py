"""Rows and columns (CSV, TSV, Parquet) as series: *wide*, one sample per row, or *long*, one instant per row.

Wide: one column is the label, the others are the instants in order; empty cells at the end shorten a series.
Long: ``case`` names the column that tells samples apart; other columns are features, ordered by ``time``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.cells import Block, Grid, Places, numbers_in, refusals, shortened, texts
from noisyrnn.data.delimited import LABELS
from noisyrnn.data.errors import DataError
from noisyrnn.data.instants import cases
from noisyrnn.data.sequences import Padded, Sequences, assemble, numbers, pad


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What the columns mean; ``labelled=False`` says that there is no label at all."""

    label: str | int | None = None
    case: str | None = None
    time: str | None = None
    labelled: bool = True
    padded: bool = False
    gaps: bool = False
    """Whether values may be missing, and then are NaN."""


def series(grid: Grid, columns: Columns, *, file: str) -> Sequences:
    """Series and labels of a grid.

    >>> from noisyrnn.data.delimited import parse_delimited
    >>> series(parse_delimited("1,5,6\\n2,7,", delimiter=None), Columns(), file="own.csv").lengths.tolist()
    [2, 1]
    """
    label = _label(grid, columns, file)
    if columns.case is not None:
        case = grid.column(columns.case, file)
        time = None if columns.time is None else grid.column(columns.time, file)
        return cases(grid, label=label, case=case, time=time, padded=columns.padded, gaps=columns.gaps, file=file)
    parts: list[Padded] = []
    labels: list[str] = []
    places = Places(grid)
    for block in grid.blocks(() if label is None else (label,)):
        part, names = _alike(block, label, file) or _one_by_one(block, grid, label, file)
        parts.append(part)
        labels += names
        places.counts.append(len(part.x))

    def where(sample: int, time: int, feature: int) -> str:
        return grid.place(places.line(sample), _column(time, label))

    told = None if label is None else labels
    return assemble(parts, told, file=file, padded=columns.padded, gaps=columns.gaps, where=where)


def _alike(block: Block, label: int | None, file: str) -> tuple[Padded, list[str]] | None:
    """Series and labels of a block whose rows are alike; None if they have to be looked at one by one."""
    if block.table is None or (label is not None and label >= block.table.num_columns):
        return None
    columns = [column for index, column in enumerate(block.table.columns) if index != label]
    try:
        names = [] if label is None else texts(block.table.column(label))
        if not columns or not all(name.strip() for name in names):
            return None
        part = _in_lists(columns[0], file) if _holds_lists(columns) else _in_columns(columns)
    except refusals():
        return None
    return None if part is None else (part, names)


def _holds_lists(columns: Sequence[Any]) -> bool:
    """Parquet: whether there is a whole series in one cell."""
    return len(columns) == 1 and hasattr(columns[0].type, "value_type")


def _in_columns(columns: Sequence[Any]) -> Padded | None:
    lengths: NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    for end in range(len(columns), 0, -1):  # from behind, as long as a series has ended there
        column = columns[end - 1]
        filled = column.is_valid().to_numpy() if column.null_count else True
        lengths[(lengths == 0) & filled] = end
        if lengths.all():
            break
    else:
        return None  # a blank row
    x = numbers_in(columns)
    if lengths.min() < len(columns):
        x[np.arange(len(columns)) >= lengths[:, None]] = 0
    return Padded.of(x[..., None], lengths)


def _in_lists(column: Any, file: str) -> Padded | None:
    flat = column.combine_chunks()
    flat = flat.chunk(0) if hasattr(flat, "chunk") else flat
    values = flat.flatten()
    if flat.null_count or values.null_count:
        return None
    lengths = flat.value_lengths().to_numpy().astype(np.int64)
    pieces = np.split(numbers_in([values])[:, 0], np.cumsum(lengths)[:-1])
    return pad([piece[:, None] for piece in pieces], file=file)


def _one_by_one(block: Block, grid: Grid, label: int | None, file: str) -> tuple[Padded, list[str]]:
    found, labels = [], []
    for line, row in block.rows:
        cells = list(row)
        if label is not None:
            if label >= len(cells) or cells[label] is None or not str(cells[label]).strip():
                raise DataError(
                    f"{file}, {grid.unit} {line}: no label in {grid.called(label)}: add it or remove the {grid.unit}."
                )
            labels.append(str(cells.pop(label)))
        if len(cells) == 1 and isinstance(cells[0], list | tuple | np.ndarray):
            cells = list(cells[0])
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()

        def where(time: int, line: int = line) -> str:
            return grid.place(line, _column(time, label))

        found.append(numbers(cells, file=file, where=where)[:, None])
    return pad(found, file=file), labels


def _column(time: int, label: int | None) -> int:
    """The column of an instant."""
    return time if label is None or time < label else time + 1


def _label(grid: Grid, columns: Columns, file: str) -> int | None:
    if not columns.labelled:
        return None
    if isinstance(columns.label, str):
        return grid.column(columns.label, file)
    if isinstance(columns.label, int):
        width = grid.width()
        if not -width <= columns.label < width:
            raise DataError(f"{file} has no column {columns.label}: it has {width}, counted from 0.")
        return columns.label % width
    if grid.header is None:
        return 0  # as the UCR archive has it
    named = [index for index, name in enumerate(grid.header) if name.lower() in LABELS]
    if len(named) != 1:
        raise DataError(
            f"{file}: which of the columns {shortened(grid.header)} is the label? Name it with label= (--target)."
        )
    return named[0]
