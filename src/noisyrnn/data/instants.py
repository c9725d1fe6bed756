"""A table with one instant per row: rows of the same case are its series, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.cells import Block, Grid, Places, numbers_in, refusals, texts
from noisyrnn.data.errors import DataError
from noisyrnn.data.sequences import Padded, Sequences, assemble, number, refuse_padding


@dataclass(frozen=True, kw_only=True)
class _Part:
    """Some rows: their cases and labels, and their numbers (row, column), time first if there is one."""

    cases: list[str]
    labels: list[str]
    numbers: NDArray[np.float64]


@dataclass(kw_only=True)
class _Codes:
    """Texts as numbers, in the order in which they first come."""

    known: dict[str, int] = field(default_factory=dict)

    def of(self, given: list[str]) -> NDArray[np.int64]:
        for text in dict.fromkeys(given):
            self.known.setdefault(text, len(self.known))
        return np.fromiter(map(self.known.__getitem__, given), dtype=np.int64, count=len(given))


def cases(
    grid: Grid, *, label: int | None, case: int, time: int | None, padded: bool = False, gaps: bool = False, file: str
) -> Sequences:
    """Series of all cases, in the order in which they first come; without ``time``, rows are in order.

    >>> from noisyrnn.data.delimited import parse_delimited
    >>> grid = parse_delimited("id,t,p\\nA,2,30\\nB,1,7\\nA,1,10", delimiter=None)
    >>> cases(grid, label=None, case=0, time=1, file="own.csv").x[..., 0].tolist()
    [[10.0, 30.0], [7.0, 0.0]]
    """
    header = grid.header or ()
    features = [index for index in range(len(header)) if index not in {case, time, label}]
    texts_in = [column for column in (case, label) if column is not None]
    columns = features if time is None else [time, *features]
    places, known, classes = Places(grid), _Codes(), _Codes()
    numbers, codes, labels = [np.zeros((0, len(columns)))], [known.of([])], [classes.of([])]
    for block in grid.blocks(texts_in):
        part = _alike(block, label, case, columns, len(header)) or _one_by_one(block, grid, label, case, columns, file)
        numbers.append(part.numbers)
        codes.append(known.of(part.cases))
        labels.append(classes.of(part.labels))
        places.counts.append(len(part.cases))
    code, x = np.concatenate(codes), np.concatenate(numbers)
    first = np.unique(code, return_index=True)[1]
    names = list(classes.known)
    if label is not None:
        given = np.concatenate(labels)
        _refuse_two_labels(code, given, first, places, list(known.known), names, file)
    if time is None:
        order = np.argsort(code, kind="stable")
    else:
        _refuse_no_time(x[:, 0], grid, places, time, file)
        order = np.lexsort((x[:, 0], code))
        _refuse_time_twice(x[:, 0], code, order, grid, places, time, file)
        x = x[:, 1:]
    lengths = np.bincount(code, minlength=len(known.known))
    starts = np.cumsum(lengths) - lengths
    shape = len(lengths), int(lengths.max(initial=0)), len(features)
    refuse_padding(shape, file)
    held = np.zeros(shape, dtype=np.float64)
    held[code[order], np.arange(len(code)) - starts[code[order]]] = x[order]

    def where(sample: int, instant: int, feature: int) -> str:
        return grid.place(places.line(int(order[starts[sample] + instant])), features[feature])

    told = None if label is None else [names[one] for one in given[first]]
    return assemble([Padded.of(held, lengths)], told, file=file, padded=padded, gaps=gaps, where=where)


def _alike(block: Block, label: int | None, case: int, columns: list[int], width: int) -> _Part | None:
    """The rows of a block that are alike; None if they have to be looked at one by one."""
    if block.table is None or block.table.num_columns != width or (label or 0) >= width:
        return None
    try:
        names = texts(block.table.column(case))
        labels = [] if label is None else texts(block.table.column(label))
        numbers = numbers_in([block.table.column(index) for index in columns])
    except refusals():
        return None
    blank = not all(name.strip() for name in names)  # perhaps a whole row of nothing
    return None if blank else _Part(cases=names, labels=labels, numbers=numbers)


def _one_by_one(block: Block, grid: Grid, label: int | None, case: int, columns: list[int], file: str) -> _Part:
    names, labels, numbers, width = [], [], [], len(grid.header or ())
    for line, row in block.rows:
        if len(row) != width:
            raise DataError(f"{file}, {grid.unit} {line}: {len(row)} cells, but the header names {width}.")
        names.append(str(row[case]))
        if label is not None and label < width:  # else a row further down is too long, and refused
            labels.append(str(row[label]))
        numbers.append([number(row[index], file=file, where=partial(grid.place, line, index)) for index in columns])
    return _Part(cases=names, labels=labels, numbers=np.array(numbers, dtype=np.float64).reshape(-1, len(columns)))


def _refuse_no_time(times: NDArray[np.float64], grid: Grid, places: Places, time: int, file: str) -> None:
    if np.isfinite(times).all():
        return
    line = places.line(int(np.argmin(np.isfinite(times))))
    raise DataError(f"{file}, {grid.place(line, time)}: no finite time: rows of a case are ordered by it.")


def _refuse_time_twice(
    times: NDArray[np.float64],
    code: NDArray[np.int64],
    order: NDArray[np.int64],
    grid: Grid,
    places: Places,
    time: int,
    file: str,
) -> None:
    twice = (np.diff(times[order]) == 0) & (np.diff(code[order]) == 0)
    if twice.any():
        row = int(order[1:][twice].min())
        raise DataError(
            f"{file}, {grid.place(places.line(row), time)}: the same time twice in one case: keep one of the rows."
        )


def _refuse_two_labels(
    code: NDArray[np.int64],
    given: NDArray[np.int64],
    first: NDArray[np.int64],
    places: Places,
    known: list[str],
    names: list[str],
    file: str,
) -> None:
    others = given != given[first][code]
    if not others.any():
        return
    row = int(others.argmax())
    here, before = names[given[row]], names[given[first[code[row]]]]
    raise DataError(
        f"{file}, {places.grid.unit} {places.line(row)}: case {known[code[row]][:40]!r} is {here[:40]!r} here, "
        f"{before[:40]!r} before: it needs one."
    )
