"""Rows: one JSON object a line; what was measured, on which run, under which protocol, where and when."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from noisyrnn.checkpoint import CheckpointError
from noisyrnn.experiments.spec import PAPER

ROWS = "rows.jsonl"
Row = dict[str, Any]


def rows(directory: Path | str) -> list[Row]:
    """All rows below a directory; where a cell occurs under several protocols, the paper's counts, else the last.

    >>> rows("no/such/directory")
    Traceback (most recent call last):
    ValueError: There is no directory no/such/directory: give the one that experiments were run into.
    """
    if not Path(directory).is_dir():
        raise ValueError(f"There is no directory {directory}: give the one that experiments were run into.")
    found: dict[tuple[Any, ...], Row] = {}
    for path in sorted(Path(directory).rglob(ROWS)):
        for row in read(path):
            cell = tuple(row.get(name) for name in ("experiment", "key", "model", "measurement"))
            if cell not in found or found[cell]["protocol"] != PAPER:
                found[cell] = row
    return list(found.values())


def read(path: Path) -> list[Row]:
    """The rows of one file; a last line that was cut off by a crash is left out, any other damage is refused."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    found = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}, is not JSON: remove the line to measure it again.") from error
    return found


def append(path: Path, new: Iterable[Row]) -> None:
    """New rows at the end of the file, on the disk when this returns; a line cut off by a crash goes first."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new).encode()
    try:
        with path.open("ab+") as stream:
            stream.seek(0)
            held = stream.read()
            whole = held.rfind(b"\n") + 1
            if whole < len(held):
                stream.truncate(whole)
            try:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                # A full disk may have taken a part of the text.
                os.truncate(path, whole)
                raise
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written ({error.strerror}): free space or choose another directory; "
            "earlier rows are intact."
        ) from error
