"""Rows and columns (CSV, TSV, Parquet) as series: *wide*, one sample per row, or *long*, one instant per row.

Wide: one column is the label, the others are the instants in order; empty cells at the end shorten a series.
Long: ``case`` names the column that tells samples apart; other columns are features, ordered by ``time``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import Room
from noisyrnn.data.lines import lines
from noisyrnn.data.sequences import Sequences, number, numbers, stack

LABELS = ("label", "class", "target", "y")
"""Column names that are taken for the label when none is named."""


Row = tuple[int, Sequence[Any]]
"""The line where a row ends, and its cells."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Rows with the names of their columns (None: no header); they are made anew whenever they are gone through."""

    header: tuple[str, ...] | None
    rows: Iterable[Row]


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


@dataclass(frozen=True, kw_only=True)
class _Text:
    """Rows of a text that are not blank, from the one numbered ``skip``, taken apart one by one."""

    text: str
    delimiter: str
    file: str
    skip: int = 0

    def __iter__(self) -> Iterator[Row]:
        filled = (row for row in self._all() if any(cell.strip() for cell in row[1]))
        yield from islice(filled, self.skip, None)

    def _all(self) -> Iterator[Row]:
        room = Room(self.file)
        if self.delimiter == " ":
            for number, line in lines(self.text):
                room.line(line.count(" ") + line.count("\t") + 1, number)
                yield number, line.split()
            return
        cells = 0

        def counted() -> Iterator[str]:
            nonlocal cells
            for number, line in lines(self.text):
                cells += line.count(self.delimiter) + 1
                room.line(cells, number)  # of all lines that quotation marks hold together
                yield line

        reader = csv.reader(counted(), delimiter=self.delimiter)
        try:
            for row in reader:
                cells = 0
                yield reader.line_num, row
        except csv.Error as error:
            raise DataError(
                f"{self.file}, line {reader.line_num} cannot be taken apart ({error}): check its quotation marks."
            ) from error


def parse_delimited(text: str, *, delimiter: str | None, label: str | int | None = None, file: str = "text") -> Grid:
    """Cells of a text; the delimiter left out is the most frequent of comma, semicolon and tab.

    The first row is a header if most cells inside it are no numbers, or if it begins or ends with the name of
    a label.

    >>> parse_delimited("label,0,1\\nsick,1,2", delimiter=None).header
    ('label', '0', '1')
    """
    if delimiter is None:
        first = next((line for _, line in lines(text) if line.strip()), "")
        delimiter = max(",;\t", key=first.count)
    rows = _Text(text=text, delimiter=delimiter, file=file)
    _, head = next(iter(rows), (0, None))
    if head is not None and _is_header(head, rows, label):
        return Grid(header=tuple(cell.strip() for cell in head), rows=replace(rows, skip=1))
    return Grid(header=None, rows=rows)


def series(grid: Grid, columns: Columns, *, file: str) -> Sequences:
    """Series and labels of a grid.

    >>> series(parse_delimited("1,5,6\\n2,7,", delimiter=None), Columns(), file="own.csv").lengths.tolist()
    [2, 1]
    """
    label = _label(grid, columns, file)
    if columns.case is not None:
        return _long(grid, columns, label, file)
    found, labels = [], []
    for line, row in grid.rows:
        cells = list(row)
        if grid.header is not None and len(cells) != len(grid.header):
            raise DataError(f"{file}, line {line}: {len(cells)} cells, but the header names {len(grid.header)}.")
        if label is not None:
            if label >= len(cells) or cells[label] is None or not str(cells[label]).strip():
                raise DataError(f"{file}, line {line}: no label in column {label}: add it or remove the line.")
            labels.append(str(cells.pop(label)))
        if len(cells) == 1 and isinstance(cells[0], list | tuple | np.ndarray):
            cells = list(cells[0])  # Parquet: a whole series in one cell
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()
        found.append(numbers(cells, file=file, where=f"line {line}")[:, None])
    return stack(found, labels if label is not None else None, file=file, padded=columns.padded, gaps=columns.gaps)


def _is_header(first: Sequence[str], rows: _Text, label: str | int | None) -> bool:
    if isinstance(label, str):
        return True
    for end in (0, -1):
        name = first[end].strip()
        # A class may be called y as well; but then it comes again.
        if name.lower() in LABELS and all(row[end].strip() != name for _, row in replace(rows, skip=1)):
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
    if isinstance(columns.label, int):
        width = max((len(row) for _, row in grid.rows), default=0)
        if not -width <= columns.label < width:
            raise DataError(f"{file} has no column {columns.label}: it has {width}, counted from 0.")
        return columns.label % width
    if grid.header is None:
        return 0  # as the UCR archive has it
    named = [index for index, name in enumerate(grid.header) if name.lower() in LABELS]
    if len(named) != 1:
        raise DataError(
            f"{file}: which of the columns {_short(grid.header)} is the label? Name it with label= (--target)."
        )
    return named[0]


def _column(grid: Grid, name: str, file: str) -> int:
    if grid.header is None:
        raise DataError(f"{file} has no header, so there is no column {name!r}: give the number of the column.")
    if name not in grid.header:
        raise DataError(f"{file} has no column {name!r}: it has {_short(grid.header)}.")
    return grid.header.index(name)


def _short(header: Sequence[str]) -> str:
    """A few of the names; with quotation marks astray, one of them may be half the file."""
    names = [" ".join(name.split())[:40] for name in header]
    return ", ".join(names if len(names) <= 8 else [*names[:4], "..", *names[-3:]])


def _long(grid: Grid, columns: Columns, label: int | None, file: str) -> Sequences:
    case = _column(grid, str(columns.case), file)
    time = None if columns.time is None else _column(grid, columns.time, file)
    features = [i for i in range(len(grid.header or ())) if i not in {case, time, label}]
    instants: dict[str, list[tuple[float, list[float]]]] = {}
    labels: dict[str, str] = {}
    stamps: dict[str, set[float]] = {}
    for line, row in grid.rows:
        where = f"line {line}"
        if len(row) != len(grid.header or ()):
            raise DataError(f"{file}, {where}: {len(row)} cells, but the header names {len(grid.header or ())}.")
        key = str(row[case])
        known = instants.setdefault(key, [])
        order = float(len(known)) if time is None else number(row[time], file=file, where=where)
        if time is not None and (order in stamps.setdefault(key, set()) or order != order):
            raise DataError(
                f"{file}, {where}: case {key[:40]!r} has time {str(row[time])[:40]!r} twice or none: keep one line."
            )
        stamps.setdefault(key, set()).add(order)
        known.append((order, [number(row[i], file=file, where=where) for i in features]))
        if label is not None and labels.setdefault(key, str(row[label])) != str(row[label]):
            raise DataError(
                f"{file}, {where}: case {key[:40]!r} is {str(row[label])[:40]!r} here, {labels[key][:40]!r} before: it "
                "needs one."
            )
    found: list[NDArray[np.float64]] = [
        np.array([values for _, values in sorted(one, key=lambda instant: instant[0])]) for one in instants.values()
    ]
    return stack(
        found, list(labels.values()) if label is not None else None, file=file, padded=columns.padded, gaps=columns.gaps
    )
