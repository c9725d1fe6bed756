"""The tables of a published record: CSV that people read, spreadsheets open, and differences show line by line.

RECORD/runs.csv           one line per run: its key, whether it is finished, every setting that is not at its default
RECORD/rows/<task>.csv    one line per row; what is the same for all rows of a run stands in the run's line, and a row
                          that was measured on another training of the same run says by which version and contract

Without torch. A cell holds plain text; lists and tables of values hold ``name=value`` with values in JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from noisyrnn import disk
from noisyrnn.rows import TASK, Row
from noisyrnn.setting import Setting, sentence

RUNS, ROWS = "runs.csv", "rows"
_MOST = 2**28
_DESCRIPTION = ("kind", "multiplicative", "additive", "convention", "variant")
_ROW = ("experiment", "model", *_DESCRIPTION, "seed", "epochs", "measure", "level", "value", "samples", "part",
        "protocol", "overrides", "budget", "seconds", "created", "measurement", "key")  # fmt: skip
_TRAINING = ("version", "contract")
_RUN = ("key", "task", "name", "status", "epochs", "seconds", "host", "version", "contract", "verified", "source")
_SETTINGS = ("data", "model", "train")


class RunLine(Setting):
    """A run as the record has it; ``name`` is that of its network, where one is published."""

    key: str = Field(pattern=r"^[0-9a-f]{16}$")
    task: str = Field(pattern=TASK)
    name: str = Field(default="", pattern=r"^([a-z0-9][a-z0-9.-]{0,229})?$")
    status: Literal["finished", "unfinished"] = "finished"
    epochs: int = Field(ge=0)
    seconds: float = Field(ge=0)
    host: str
    version: str
    contract: int = 1
    verified: bool = True
    source: str = ""
    """Which data: a name in sources.json."""
    seed: int = Field(ge=0)
    data: dict[str, Any]
    model: dict[str, Any]
    train: dict[str, Any]


def pairs(values: Mapping[str, Any]) -> str:
    """Names and values as one reads them, and as :func:`unpaired` reads them back.

    >>> pairs({"epochs": 30, "train.optimiser": "rmsprop"})
    'epochs=30 train.optimiser="rmsprop"'
    """
    return " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def unpaired(text: str) -> dict[str, Any]:
    """The names and values of a cell.

    >>> unpaired('epochs=30 noise={"kind": "white", "sigma": 0.8}')
    {'epochs': 30, 'noise': {'kind': 'white', 'sigma': 0.8}}
    """
    found: dict[str, Any] = {}
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        name, equals, _ = text[at:].partition("=")
        if not equals or not name or " " in name:
            raise ValueError(f"{text[:80]!r} is no list of name=value")
        found[name], at = decoder.raw_decode(text, at + len(name) + 1)
        if text[at : at + 1] not in ("", " "):
            raise ValueError(f"{text[:80]!r} is no list of name=value")
        at += 1
    return found


def runs_text(runs: Iterable[RunLine]) -> str:
    """The table of runs."""
    lines = []
    for run in sorted(runs, key=lambda run: (run.task, run.model.get("kind", ""), run.name, run.seed, run.key)):
        settings = {
            f"{part}.{name}": value if _is_word(value) else json.dumps(value)
            for part in _SETTINGS
            for name, value in getattr(run, part).items()
        }
        lines.append({**{name: _text(getattr(run, name)) for name in _RUN}, "seed": str(run.seed), **settings})
    dotted = sorted({name for line in lines for name in line if "." in name}, key=_setting_order)
    return table_text((*_RUN, "seed", *dotted), lines)


def rows_text(rows: Iterable[Row], runs: Mapping[str, RunLine] | None = None) -> str:
    """A table of rows; of those whose network is not the one in the lines of ``runs``, also which it is."""
    lines = [
        {
            **{name: _text(getattr(row, name)) for name in _ROW if hasattr(row, name)},
            **{name: _text(getattr(row.description, name)) for name in _DESCRIPTION},
            **_other_training(row, (runs or {}).get(row.key)),
        }
        for row in rows
    ]
    told = _TRAINING if any("version" in line for line in lines) else ()
    return table_text((*_ROW, *told), sorted(lines, key=_row_order))


def _other_training(row: Row, run: RunLine | None) -> dict[str, str]:
    """By which version and contract the row's network was trained, where that is not the one in the run's line."""
    if run is None or (row.version, row.contract) == (run.version, run.contract):
        return {}
    return {name: _text(getattr(row, name)) for name in _TRAINING}


def runs_in(record: Path) -> dict[str, RunLine]:
    """The runs of a record by their keys."""
    found: dict[str, RunLine] = {}
    path = record / RUNS
    for number, line in table_lines(path):
        parts: dict[str, dict[str, Any]] = {part: {} for part in _SETTINGS}
        for name, text in line.items():
            part, dot, rest = name.partition(".")
            if dot and text:
                parts.setdefault(part, {})[rest] = _value(text)
        plain = {name: text for name, text in line.items() if "." not in name}
        run = _validated(RunLine, {**plain, **parts}, path, number)
        if run.key in found:
            raise _damaged(path, number, f"the run {run.key} stands there twice")
        found[run.key] = run
    return found


def rows_in_record(record: Path) -> list[Row]:
    """The rows of a record, each with what the table of runs says of its run."""
    runs = runs_in(record)
    found = []
    for path in sorted((record / ROWS).glob("*.csv")):
        for number, line in table_lines(path):
            run = runs.get(line.get("key", ""))
            if run is None:
                raise _damaged(path, number, f"{RUNS} has no run {line.get('key', '')!r}")
            try:
                told = {name: unpaired(line[name]) for name in ("overrides", "budget")}
                own = {name: line[name] for name in _ROW if name not in _DESCRIPTION and name not in told}
                described = {name: line[name] for name in _DESCRIPTION if line[name] != ""}
            except KeyError as error:
                raise _damaged(path, number, f"there is no column {error}") from error
            except (ValueError, RecursionError) as error:
                raise _damaged(path, number, f"overrides and budget are name=value in JSON; {error}") from error
            shared = {"task": run.task, "data": run.data, "verified": run.verified, "contract": run.contract,
                      "version": run.version, "host": run.host}  # fmt: skip
            shared |= {name: line[name] for name in _TRAINING if line.get(name)}
            found.append(_validated(Row, {**own, **told, **shared, "description": described}, path, number))
    return found


def _validated(model: type[Any], value: dict[str, Any], path: Path, number: int) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _damaged(path, number, sentence(error, model).rstrip(".")) from error


def _damaged(path: Path, number: int, reason: str) -> disk.DamagedFile:
    return disk.DamagedFile(f"{path}, line {number} cannot be used ({reason}): restore the file from a copy.")


def table_lines(path: Path) -> Iterable[tuple[int, dict[str, str]]]:
    """Numbered lines of a CSV file with a head, by the names of their columns."""
    try:
        content = disk.read(path, most=_MOST)
    except FileNotFoundError:
        return
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _damaged(path, content.count(b"\n", 0, error.start) + 1, f"{error}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for line in reader:
            if None in line or None in line.values():
                raise _damaged(path, reader.line_num, "it has another number of cells than the head")
            yield reader.line_num, line
    except csv.Error as error:
        raise _damaged(path, reader.line_num + 1, f"{error}") from error


def table_text(columns: Iterable[str], lines: Iterable[Mapping[str, Any]]) -> str:
    """A table as CSV; a missing value is an empty cell."""
    written: list[str] = []
    # Cells with a carriage return are quoted only where it is a part of the line's end.
    writer = csv.DictWriter(_Lines(written), list(columns), restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in line.items()} for line in lines)
    return "".join(f"{line.removesuffix(chr(13) + chr(10))}\n" for line in written)


class _Lines:
    """What the module csv writes to: one call for each line."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return pairs(value)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _value(text: str) -> Any:
    """A setting's value: JSON where it is JSON, else a word."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # Python refuses numbers of more than 4300 digits with a plain ValueError
        return text


def _is_word(value: Any) -> bool:
    """Whether a setting's value is read back from its bare text; an empty cell would be no setting at all."""
    return isinstance(value, str) and value != "" and _value(value) == value


def _row_order(line: Mapping[str, str]) -> tuple[Any, ...]:
    numbers = int(line["seed"]), int(line["epochs"]), line["measure"], float(line["level"])
    return line["experiment"], line["model"], *numbers, line["key"], line["measurement"]


def _setting_order(name: str) -> tuple[int, bool, str]:
    part, _, rest = name.partition(".")
    return _SETTINGS.index(part), rest != "kind", rest
