"""From a directory to rows and what is known of their experiments: a published record, or runs at any depth below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noisyrnn.about import ABOUT, About, abouts_in
from noisyrnn.record_tables import ROWS, RUNS, rows_in_record, runs_in
from noisyrnn.rows import Reading, Row, distinct, rows_in


@dataclass(frozen=True, kw_only=True)
class Results:
    """Rows, each cell once, and the experiments that they are for."""

    reading: Reading
    experiments: dict[str, About]

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.reading.rows


def read_results(directory: Path | str) -> Results:
    """Every row below ``directory``, each cell once, and what the files beside them say of the experiments.

    >>> read_results("no/such/place")
    Traceback (most recent call last):
    ValueError: There is no directory no/such/place; name one that experiments were run into, or a record.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise ValueError(f"There is no directory {directory}; name one that experiments were run into, or a record.")
    found: list[Row] = []
    files = torn = 0
    for table in sorted(directory.rglob(RUNS)):
        found += rows_in_record(table.parent)
        files += len(list((table.parent / ROWS).glob("*.csv")))
    for file in sorted(directory.rglob("rows-*.jsonl")):
        rows, broken = rows_in(file)
        found += rows
        files += 1
        torn += broken
    if not found:
        _refuse_nothing(directory)
    told = {name: about for file in sorted(directory.rglob(ABOUT)) for name, about in abouts_in(file.parent).items()}
    return Results(reading=distinct(found, files=files, torn=torn), experiments=told)


def _refuse_nothing(directory: Path) -> None:
    old = next(directory.rglob("rows.jsonl"), None)
    if old is not None:
        raise ValueError(f"{old} was written by version 0.1: `noisyrnn record {directory} RECORD` reads it.")
    begun = sum(
        line.status == "unfinished" for table in directory.rglob(RUNS) for line in runs_in(table.parent).values()
    )
    if begun:
        raise ValueError(f"{directory} has {begun} unfinished runs and no rows yet: `noisyrnn run` goes on with them.")
    raise ValueError(f"No rows found below {directory}; make some with: noisyrnn run table-3.")
