"""How much memory a file of a stranger may take: one limit, held before the memory is taken.

It bounds what is downloaded, what a compressed file unfolds to, and the numbers that are made of it. Two megabytes can
unfold to gigabytes, and a header of a hundred bytes can announce any shape: nothing is believed before it is counted.
"""

from __future__ import annotations

import io
import os
from typing import Protocol, runtime_checkable

from noisyrnn.data.errors import DataError

VARIABLE = "NOISYRNN_DATA_LIMIT"
"""Names the limit in megabytes, where the default is too small."""

_DEFAULT = 512  # megabytes: every set of the catalogue needs less than a quarter
_BLOCK = 1 << 20
_SERIES = 128  # bytes that one series takes besides its numbers
_NUMBER = 8  # bytes: numbers are read in double precision
_WIDEST = 1 << 22  # cells in one line; while a line is taken apart each of them takes far more than its number


def limit() -> int:
    """Bytes that one file may take, compressed or not, and bytes that its numbers may take.

    >>> limit() == 512 * 2**20
    True
    """
    told = os.environ.get(VARIABLE)
    if not told:
        return _DEFAULT * 2**20
    if not (told.isascii() and told.isdigit() and 0 < len(told) <= 9 and int(told) > 0):
        raise DataError(f"{VARIABLE} must be a whole number of megabytes, such as 2048, got {told[:40]!r}: correct it.")
    return int(told) * 2**20


def refuse_beyond(size: int, what: str) -> None:
    """Nothing, while ``size`` bytes are within the limit.

    >>> refuse_beyond(2**40, "own.npz announces an array that takes")
    Traceback (most recent call last):
    noisyrnn.data.errors.DataError: own.npz announces an array that takes more than 512 MB, ...
    """
    most = limit()
    if size > most:
        raise DataError(
            f"{what} more than {most // 2**20} MB, which is the limit for one file: if you trust it, set {VARIABLE} to "
            "the megabytes that it may take."
        )


@runtime_checkable
class Readable(Protocol):
    """Anything that gives so many bytes, or the rest."""

    def read(self, size: int, /) -> bytes: ...


def read_within(stream: Readable, what: str) -> bytes:
    """All that a stream gives, piece by piece; a refusal as soon as it is more than the limit.

    >>> read_within(io.BytesIO(b"all of it"), "own.csv.gz unfolds to")
    b'all of it'
    """
    held = io.BytesIO()
    while block := stream.read(_BLOCK):
        refuse_beyond(held.tell() + len(block), what)
        held.write(block)
    return held.getvalue()


class Room:
    """Counts what the numbers of one file take, as they come."""

    def __init__(self, file: str) -> None:
        self.file, self.taken, self.most = file, 0, limit()

    def take(self, numbers: int, series: int = 1) -> None:
        """Room for so many numbers more, in so many series."""
        self.taken += _NUMBER * numbers + _SERIES * series
        if self.taken > self.most:
            refuse_beyond(self.taken, f"{self.file} holds numbers that take")

    def line(self, cells: int, number: int) -> None:
        """Room for a line of so many cells."""
        if cells > _WIDEST:
            raise DataError(
                f"{self.file}, line {number} has more than {_WIDEST} cells: write a sequence that long in pieces."
            )
        self.take(cells)
