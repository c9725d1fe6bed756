"""Tables: ours (mean, standard deviation, seeds, epochs) beside the paper's number, and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from noisyrnn.about import About, Printed
from noisyrnn.rows import CLEAN, Column, Regime, Row

FAR = 2.0
"""A cell further than this many points from the paper's number is pointed out."""

Runs = dict[tuple[str, Regime], dict[Column, dict[int, Row]]]
"""(model, regime) -> column -> seed -> row."""


def runs(rows: Iterable[Row], experiments: Sequence[str]) -> Runs:
    """Rows of the named experiments by model, regime, column and seed, one row each.

    Where two runs measured the same thing, the experiment named first wins, then the newer row: a seed counts once.
    """
    rank = {name: -place for place, name in enumerate(experiments)}
    chosen = [row for row in rows if row.experiment in rank]
    chosen.sort(key=lambda row: (rank[row.experiment], row.created, row.key))
    sorted_runs: Runs = {}
    for row in chosen:
        sorted_runs.setdefault((row.model, row.regime), {}).setdefault(row.column, {})[row.seed] = row
    return sorted_runs


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    return fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample (n - 1 below); one value has none.

    >>> deviation([1.0, 3.0]) ** 2
    2.0000000000000004
    >>> deviation([1.0]) is None
    True
    """
    if len(values) < 2:
        return None
    centre = mean(values)
    return sqrt(fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One accuracy of ours and of the paper; either may be missing."""

    column: Column
    mean: float | None = None
    deviation: float | None = None
    seeds: int = 0
    paper: float | None = None
    best: bool = False

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, in points."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper

    @property
    def far(self) -> bool:
        """Whether ours is pointed out as far from the paper's."""
        return self.difference is not None and abs(self.difference) > FAR


@dataclass(frozen=True, kw_only=True)
class Line:
    """One model under one protocol; ``own`` is a model the paper's table does not have."""

    model: str
    name: str
    regime: Regime | None
    protocol: str
    seeds: int
    epochs: str
    own: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the paper with our numbers in it, or one of our own."""

    name: str
    caption: str
    note: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]

    @property
    def run(self) -> bool:
        """Whether any cell has a number of ours."""
        return any(line.seeds for line in self.lines)

    @property
    def far(self) -> tuple[tuple[Line, Cell], ...]:
        """Cells further than two points from the paper, largest difference first."""
        cells = [(line, cell) for line in self.lines for cell in line.cells if cell.far]
        return tuple(sorted(cells, key=lambda pair: -abs(pair[1].difference or 0.0)))


def table(experiment: About, found: Runs, names: dict[str, str]) -> Table:
    """The printed table of an experiment with ours in each cell; models that were not run keep their line."""
    printed = experiment.printed or Printed(columns=(), lines={})
    # Finer grids belong to the figures: a measure that is printed nowhere adds columns only to its own table.
    measures = {measure for measure, _ in printed.columns}
    extra = {
        column
        for measured in found.values()
        for column, seeds in measured.items()
        if column[0] not in measures and any(row.experiment == experiment.name for row in seeds.values())
    }
    columns = (*printed.columns, *sorted(extra, key=lambda column: (column != CLEAN, column)))
    shown = {who: measured for who, measured in found.items() if any(column in measured for column in columns)}
    own = sorted({model for model, _ in shown} - set(printed.lines))
    lines = []
    for model in (*printed.lines, *own):
        regimes = [regime for name, regime in _ordered(shown) if name == model]
        for regime in regimes or (None,):
            measured = {} if regime is None else shown[model, regime]
            lines.append(_line(model, names.get(model, model), regime, measured, columns, printed))
    return Table(
        name=experiment.name,
        caption=experiment.text if experiment.printed else "",
        note=experiment.note,
        columns=columns,
        lines=_with_best(lines),
    )


def printed_number(experiments: Iterable[About], model: str, column: Column) -> float | None:
    """The accuracy that the paper prints in any table of a chapter."""
    tables = (experiment.printed for experiment in experiments if experiment.printed)
    found = (table.number(model, column) for table in tables)
    return next((number for number in found if number is not None), None)


def _ordered(found: Runs) -> list[tuple[str, Regime]]:
    """Model by model, each with the paper's protocol first, then from the longest training to the shortest."""

    def place(who: tuple[str, Regime]) -> tuple[str, bool, int, Regime]:
        model, regime = who
        epochs = max(row.epochs for seeds in found[who].values() for row in seeds.values())
        return model, not regime.paper, -epochs, regime

    return sorted(found, key=place)


def _line(
    model: str,
    name: str,
    regime: Regime | None,
    measured: Mapping[Column, dict[int, Row]],
    columns: Sequence[Column],
    printed: Printed,
) -> Line:
    cells = []
    for column in columns:
        values = [row.value for row in measured.get(column, {}).values()]
        cells.append(
            Cell(
                column=column,
                mean=mean(values) if values else None,
                deviation=deviation(values),
                seeds=len(values),
                paper=printed.number(model, column),
            )
        )
    rows = [row for column in columns for row in measured.get(column, {}).values()]
    seeds = max((cell.seeds for cell in cells), default=0)
    epochs = sorted({row.epochs for row in rows})
    return Line(
        model=model,
        name=name,
        regime=regime,
        protocol=regime.label(seeds) if regime is not None and rows else "not run",
        seeds=seeds,
        epochs=" to ".join(str(count) for count in dict.fromkeys((epochs[0], epochs[-1]))) if epochs else "",
        own=model not in printed.lines,
        cells=tuple(cells),
    )


def _with_best(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines with the highest mean of each column marked, among lines of one protocol, where there are two or more.

    Seeds may be more or fewer: a line with two of them is no best of its own beside a better one with three.
    """
    means: dict[tuple[Regime | None, Column], list[float]] = {}
    for line in lines:
        for cell in line.cells:
            if cell.mean is not None:
                means.setdefault((line.regime, cell.column), []).append(cell.mean)

    def best(line: Line, cell: Cell) -> bool:
        rivals = means.get((line.regime, cell.column), [])
        # Equal as printed is equal: the paper, too, sets ties in bold together.
        return cell.mean is not None and len(rivals) > 1 and round(cell.mean, 1) == round(max(rivals), 1)

    return tuple(
        replace(line, cells=tuple(replace(cell, best=best(line, cell)) for cell in line.cells)) for line in lines
    )
