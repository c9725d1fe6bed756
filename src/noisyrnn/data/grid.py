"""Rows and columns (CSV, TSV, Parquet) as series: *wide*, a sample a row, or *long*, an instant a row.

Wide: one column is the label, the others are the instants in order; empty cells at the end shorten a series.
Long: ``case`` names the column that tells samples apart; other columns are features, ordered by ``time``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError
from noisyrnn.data.sequences import Sequences, number, numbers, stacked

LABELS = ("label", "class", "target", "y")
"""Column names that are taken for the label when none is named."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells with the names of their columns (None: no header), and the line where each row ends."""

    header: tuple[str, ...] | None
    rows: Sequence[Sequence[Any]]
    lines: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What the columns mean; ``labelled=False`` says that there is no label at all."""

    label: str | int | None = None
    case: str | None = None
    time: str | None = None
    labelled: bool = True
    padded: bool = False


def delimited(text: str, *, delimiter: str | None, label: str | int | None = None) -> Grid:
    """Cells of a text; the delimiter left out is the most frequent of comma, semicolon and tab.

    The first row is a header if most cells inside it are no numbers, or if it begins or ends with the name of
    a label.

    >>> delimited("label,0,1\\nsick,1,2", delimiter=None).header
    ('label', '0', '1')
    """
    if delimiter == " ":
        numbered = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1)]
    else:
        first = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = delimiter or max(",;\t", key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        numbered = [(reader.line_num, row) for row in reader]
    numbered = [(number, row) for number, row in numbered if any(cell.strip() for cell in row)]
    rows, lines = [row for _, row in numbered], [number for number, _ in numbered]
    if rows and _is_header(rows, label):
        return Grid(header=tuple(cell.strip() for cell in rows[0]), rows=rows[1:], lines=lines[1:])
    return Grid(header=None, rows=rows, lines=lines)


def series(grid: Grid, columns: Columns, *, file: str) -> Sequences:
    """Series and labels of a grid.

    >>> series(delimited("1,5,6\\n2,7,", delimiter=None), Columns(), file="own.csv").lengths.tolist()
    [2, 1]
    """
    label = _label(grid, columns, file)
    if columns.case is not None:
        return _long(grid, columns, label, file)
    found, labels = [], []
    for line, row in zip(grid.lines, grid.rows, strict=True):
        cells = list(row)
        if label is not None:
            if label >= len(cells) or cells[label] is None or not str(cells[label]).strip():
                raise DataError(f"{file}, line {line}: no label in column {label}: add it or remove the line.")
            labels.append(str(cells.pop(label)))
        if len(cells) == 1 and isinstance(cells[0], list | tuple | np.ndarray):
            cells = list(cells[0])  # Parquet: a whole series in one cell
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()
        found.append(numbers(cells, file=file, where=f"line {line}")[:, None])
    return stacked(found, labels if label is not None else None, file=file, padded=columns.padded)


def _is_header(rows: list[list[str]], label: str | int | None) -> bool:
    if isinstance(label, str):
        return True
    first = rows[0]
    for end in (0, -1):
        # A class may be called y as well; but then it comes again.
        others = {row[end].strip() for row in rows[1:]}
        if first[end].strip().lower() in LABELS and first[end].strip() not in others:
            return True
    inner = first[1:-1] or first
    # Most cells, not any: a first row with one slip of the pen must be reported, not taken for names.
    return 2 * sum(not _is_number(cell) for cell in inner) > len(inner)


def _is_number(cell: str) -> bool:
    try:
        number(cell, file="", where="")
    except DataError:
        return False
    return True


def _label(grid: Grid, columns: Columns, file: str) -> int | None:
    if not columns.labelled:
        return None
    if isinstance(columns.label, str):
        return _column(grid, columns.label, file)
    width = max((len(row) for row in grid.rows), default=0)
    if isinstance(columns.label, int):
        if not -width <= columns.label < width:
            raise DataError(f"{file} has no column {columns.label}: it has {width}, counted from 0.")
        return columns.label % width
    if grid.header is None:
        return 0  # as the UCR archive has it
    named = [index for index, name in enumerate(grid.header) if name.lower() in LABELS]
    if len(named) != 1:
        raise DataError(f"{file}: which of the columns {_short(grid.header)} is the label? Name it with label=.")
    return named[0]


def _column(grid: Grid, name: str, file: str) -> int:
    if grid.header is None:
        raise DataError(f"{file} has no header, so there is no column {name!r}: give the number of the column.")
    if name not in grid.header:
        raise DataError(f"{file} has no column {name!r}: it has {_short(grid.header)}.")
    return grid.header.index(name)


def _short(header: Sequence[str]) -> str:
    return ", ".join(header if len(header) <= 8 else [*header[:4], "..", *header[-3:]])


def _long(grid: Grid, columns: Columns, label: int | None, file: str) -> Sequences:
    case = _column(grid, str(columns.case), file)
    time = None if columns.time is None else _column(grid, columns.time, file)
    features = [i for i in range(len(grid.header or ())) if i not in {case, time, label}]
    instants: dict[str, list[tuple[float, list[float]]]] = {}
    labels: dict[str, str] = {}
    for line, row in zip(grid.lines, grid.rows, strict=True):
        where = f"line {line}"
        if len(row) != len(grid.header or ()):
            raise DataError(f"{file}, {where}: {len(row)} cells, but the header names {len(grid.header or ())}.")
        key = str(row[case])
        known = instants.setdefault(key, [])
        order = float(len(known)) if time is None else number(row[time], file=file, where=where)
        known.append((order, [number(row[i], file=file, where=where) for i in features]))
        if label is not None and labels.setdefault(key, str(row[label])) != str(row[label]):
            raise DataError(
                f"{file}, {where}: case {key} is {row[label]!r} here, {labels[key]!r} before: it needs one."
            )
    found: list[NDArray[np.float64]] = [
        np.array([values for _, values in sorted(one, key=lambda instant: instant[0])]) for one in instants.values()
    ]
    return stacked(found, list(labels.values()) if label is not None else None, file=file, padded=columns.padded)
