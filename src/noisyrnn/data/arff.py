"""Weka's ``.arff`` as the archives use it: numeric attributes, or channels in one relational attribute."""

from __future__ import annotations

import csv
import re

import numpy as np

from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import Room
from noisyrnn.data.lines import lines
from noisyrnn.data.sequences import Sequences, numbers, stack

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s*(.*)", re.IGNORECASE)


def read(text: str, *, file: str, label: str | None = None, padded: bool = False, gaps: bool = False) -> Sequences:
    """Series and labels of an .arff file; the label is the attribute named, or else the last nominal one.

    >>> lines = ["@attribute a0 real", "@attribute a1 real", "@attribute target {1,2}", "@data", "3,4,1"]
    >>> read("\\n".join(lines), file="own.arff").x.tolist()
    [[[3.0], [4.0]]]
    """
    head, found, body = _halves(text)
    if not found:
        raise DataError(f"{file} has no @data line: it is truncated or not an .arff file.")
    names, nominal = _attributes(head)
    target = _target(names, nominal, label, file)
    series, labels, room = [], [], Room(file)
    for line, raw in lines(body, first=head.count("\n") + 2):
        if not raw.strip() or raw.lstrip().startswith("%"):
            continue
        room.line(raw.count(",") + raw.count("\\n") + 1, line)
        quote = '"' if raw.lstrip().startswith('"') else "'"
        cells = _cells(raw.strip(), quote, file, line)
        if target is not None:
            if len(cells) <= target:
                raise DataError(f"{file}, line {line}: {len(cells)} values, but the label is number {target + 1}.")
            labels.append(cells.pop(target).strip().strip("'\""))
        # A relational attribute holds one channel per line, and the line breaks are written as \n.
        channels = [part.split(",") for part in cells[0].split("\\n")] if len(cells) == 1 else [cells]
        columns = [numbers(channel, file=file, where=f"line {line}") for channel in channels]
        if len({len(column) for column in columns}) != 1:
            raise DataError(f"{file}, line {line}: channels differ in length: a sample needs equal channels.")
        series.append(np.array(columns, dtype=np.float64).T)
    return stack(series, labels if target is not None else None, file=file, padded=padded, gaps=gaps)


def _cells(text: str, quote: str, file: str, line: int) -> list[str]:
    try:
        (cells,) = csv.reader([text], quotechar=quote, skipinitialspace=True)
    except (csv.Error, ValueError) as error:
        raise DataError(f"{file}, line {line} cannot be taken apart ({error}): correct it.") from error
    return cells


def _halves(text: str) -> tuple[str, str, str]:
    match = re.search(r"^[ \t]*@data[ \t]*$", text, re.IGNORECASE | re.MULTILINE)
    return (text, "", "") if match is None else (text[: match.start()], "@data", text[match.end() + 1 :])


def _attributes(head: str) -> tuple[list[str], list[bool]]:
    names: list[str] = []
    nominal: list[bool] = []
    relational = False
    for _, line in lines(head):
        stripped = line.strip()
        if stripped.lower().startswith("@end"):
            relational = False
        match = _ATTRIBUTE.match(stripped)
        if match is None or relational:
            continue  # attributes inside a relation describe one instant of it
        relational = match[2].lower().startswith("relational")
        names.append(match[1].strip("'\""))
        nominal.append(match[2].startswith("{") or match[2].lower().startswith("string"))
    return names, nominal


def _target(names: list[str], nominal: list[bool], label: str | None, file: str) -> int | None:
    if label is not None:
        if label not in names:
            raise DataError(f"{file} has no attribute {label!r}: its attributes end with {names[-3:]}.")
        return names.index(label)
    return len(nominal) - 1 - nominal[::-1].index(True) if any(nominal) else None
