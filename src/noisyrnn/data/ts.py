"""The ``.ts`` format of aeon and sktime: ``@`` header lines, ``@data``, then one sample per line.

Channels are separated by ``:``, values by ``,``; the class comes last. Lengths may differ; ``?`` is missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import Room
from noisyrnn.data.lines import lines
from noisyrnn.data.sequences import Sequences, numbers, stack


def read(text: str, *, file: str, padded: bool = False, gaps: bool = False) -> Sequences:
    """Series and labels of a .ts file.

    >>> read("@classLabel true a b\\n@data\\n1,2:3,4:a\\n5,6:7,8:b", file="own.ts").x.tolist()
    [[[1.0, 3.0], [2.0, 4.0]], [[5.0, 7.0], [6.0, 8.0]]]
    """
    header: dict[str, str] = {}
    series: list[NDArray[np.float64]] = []
    labels: list[str] = []
    inside, room = False, Room(file)
    for line_number, raw in lines(text):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if not inside:
            key, _, value = line.partition(" ")
            if not key.startswith("@"):
                raise DataError(f"{file}, line {line_number}: data before @data: add the header of a .ts file.")
            header[key[1:].lower()] = value.strip().lower()
            inside = key.lower() == "@data"
            if inside:
                _refuse(header, file)
            continue
        room.line(line.count(",") + line.count(":") + 1, line_number)
        channels = line.split(":")
        if header.get("classlabel", "").startswith("true"):
            labels.append(channels.pop().strip())
        series.append(_channels(channels, file, line_number))
    if not inside:
        raise DataError(f"{file} has no @data line: it is truncated or not a .ts file.")
    return stack(series, labels or None, file=file, padded=padded, gaps=gaps)


def _refuse(header: dict[str, str], file: str) -> None:
    if header.get("timestamps", "false").startswith("true"):
        raise DataError(f"{file} holds (time, value) pairs: resample it to equal steps and set @timeStamps false.")
    if header.get("targetlabel", "false").startswith("true"):
        raise DataError(f"{file} is a regression problem (@targetLabel): classes are needed.")


def _channels(channels: list[str], file: str, line: int) -> NDArray[np.float64]:
    where = f"line {line}"
    columns = [numbers(channel.split(","), file=file, where=where) for channel in channels]
    if len({len(column) for column in columns}) != 1:
        lengths = [len(column) for column in columns]
        raise DataError(f"{file}, line {line}: channels of {lengths} values: a sample needs equal channels.")
    return np.array(columns, dtype=np.float64).T
