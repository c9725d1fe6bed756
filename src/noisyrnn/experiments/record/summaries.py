"""What the theorems say of networks, kept: in a run's directory as theory.json, in a record as theory.csv."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock
from pydantic import Field

from noisyrnn import disk
from noisyrnn.experiments.store.run_directory import RunDirectory
from noisyrnn.record_tables import table_lines, table_text
from noisyrnn.setting import Setting

THEORY, TABLE = "theory.json", "theory.csv"
_OLD = "portrait.json"  # of version 0.1


class TheorySummary(Setting):
    """Medians and means over ``samples`` test samples; None where a theorem does not apply to the network."""

    key: str = Field(pattern=r"^[0-9a-f]{16}$")
    samples: int
    per_step_R: float | None
    exponent: float | None
    certified: float | None
    attacked: float


def summary_of(place: RunDirectory) -> TheorySummary | None:
    """The summary in a run's directory, if there is one."""
    for name in (THEORY, _OLD):
        try:
            return disk.read_as(
                TheorySummary, place.path / name, what="a summary of theory", remedy="remove it to compute it again"
            )
        except FileNotFoundError:
            continue
    return None


def summaries_in(record: Path) -> dict[str, TheorySummary]:
    """The summaries of a record, by the keys of their runs."""
    found = {}
    for number, line in table_lines(record / TABLE):
        try:
            kept = TheorySummary.model_validate({name: text or None for name, text in line.items()})
        except ValueError as error:
            raise disk.DamagedFile(f"{record / TABLE}, line {number} cannot be used: remove that line.") from error
        found[kept.key] = kept
    return found


def summaries_text(summaries: Iterable[TheorySummary]) -> str:
    """The table of summaries."""
    lines = sorted(summaries, key=lambda summary: summary.key)
    return table_text(TheorySummary.model_fields, [line.model_dump(mode="json") for line in lines])


def keep_summary(record: Path, summary: TheorySummary) -> None:
    """The summary in the record's table, in place of an earlier one."""
    with FileLock(record / ".lock", timeout=60):
        found = summaries_in(record) | {summary.key: summary}
        disk.save(record / TABLE, summaries_text(found.values()).encode())
