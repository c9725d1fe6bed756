"""Text in rows and cells (.csv .tsv .txt), cut into blocks of whole lines that pyarrow takes apart.

A row may not be longer than what pyarrow reads at once, so the size of a block is that of the first row many times
over. What pyarrow refuses (uneven rows, cells that are no numbers) is taken apart by Python's :mod:`csv`, block by
block.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from noisyrnn.data.cells import Block, Grid, Row, arrow, refusals
from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import Room
from noisyrnn.data.lines import lines
from noisyrnn.data.sequences import number

LABELS = ("label", "class", "target", "y")
"""Column names that are taken for the label when none is named."""

_ROWS = 128  # that pyarrow should find in one of its blocks: for each block and column it takes half a kilobyte
_BLOCK = 1 << 20  # characters that pyarrow takes apart at once, at least
_STRETCH = 1 << 24  # characters of one of our blocks, at least
_COLUMNS = 1 << 17  # beyond them pyarrow's columns take more memory than their numbers


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
    whole = _Stretch(text=text, delimiter=delimiter, file=file, end=len(text))
    last, head = next(iter(whole), (0, []))
    body = replace(whole, begin=sum(len(line) for _, line in islice(lines(text), last)))
    if head and _is_header(head, body, label):
        return Grid(header=tuple(cell.strip() for cell in head), width=body.width, blocks=body.blocks)
    return Grid(header=None, width=whole.width, blocks=whole.blocks)


@dataclass(frozen=True, kw_only=True)
class _Stretch:
    """Whole lines of a text; going through it gives the rows that are not blank, taken apart one by one."""

    text: str
    delimiter: str
    file: str
    begin: int = 0
    end: int

    def __iter__(self) -> Iterator[Row]:
        return (row for row in self._all() if any(cell.strip() for cell in row[1]))

    def width(self) -> int:
        """Cells of the longest row."""
        if self.delimiter == " " or self._quoted():
            return max((len(cells) for _, cells in self), default=0)
        filled = (line for _, line in self._lines() if line.strip())
        return max((line.count(self.delimiter) + 1 for line in filled), default=0)

    def ends(self, end: int) -> Iterator[str]:
        """The first (0) or last (-1) cell of each row."""
        if self.delimiter == " " or self._quoted():
            return (cells[end] for _, cells in self)
        cut = str.partition if end == 0 else str.rpartition
        return (cut(line, self.delimiter)[end] or line for _, line in self._lines())

    def blocks(self, text_columns: Collection[int]) -> Iterator[Block]:
        """The rows as blocks, in which all columns but these hold numbers."""
        _, first = next(iter(self), (0, []))
        if self.delimiter == " " or not 1 < len(first) <= _COLUMNS:
            yield Block(table=None, rows=self)
            return
        longest = max(len(line) for _, line in islice(self._lines(), 2))
        piece = max(_BLOCK, _ROWS * longest)
        kinds = _kinds(len(first), text_columns)
        room = Room(self.file)
        quoted = self._quoted()  # then quotation marks may hold lines together, and all of them are one stretch
        for stretch in [self] if quoted else self._cut(max(_STRETCH, 4 * piece)):
            count = _line_ends(self.text, stretch.begin, stretch.end)
            room.take(self.text.count(self.delimiter, stretch.begin, stretch.end) + count, count)
            yield Block(table=stretch._table(kinds, piece, quoted), rows=stretch)

    def _cut(self, size: int) -> Iterator[_Stretch]:
        """Stretches of about so many characters."""
        begin = self.begin
        while begin < self.end:
            end = self.text.find("\n", begin + size, self.end)
            end = self.end if end < 0 else end + 1
            yield replace(self, begin=begin, end=end)
            begin = end

    def _table(self, kinds: Any, piece: int, quoted: bool) -> Any | None:
        """The columns, unless pyarrow refuses."""
        library = arrow("pyarrow.csv")
        try:
            return library.read_csv(
                arrow().BufferReader(self.text[self.begin : self.end].encode()),
                read_options=library.ReadOptions(block_size=piece, autogenerate_column_names=True),
                parse_options=library.ParseOptions(delimiter=self.delimiter, newlines_in_values=quoted),
                convert_options=kinds,
            )
        except refusals():
            return None

    def _quoted(self) -> bool:
        return self.text.find('"', self.begin, self.end) >= 0

    def _lines(self) -> Iterator[tuple[int, str]]:
        yield from lines(self.text, 1 + _line_ends(self.text, 0, self.begin), self.begin, self.end)

    def _all(self) -> Iterator[Row]:
        room = Room(self.file)
        if self.delimiter == " ":
            for at, line in self._lines():
                room.line(line.count(" ") + line.count("\t") + 1, at)
                yield at, line.split()
            return
        cells = at = 0

        def counted() -> Iterator[str]:
            nonlocal cells, at
            for at, line in self._lines():
                cells += line.count(self.delimiter) + 1
                room.line(cells, at)  # of all lines that quotation marks hold together
                yield line

        reader = csv.reader(counted(), delimiter=self.delimiter)
        try:
            for row in reader:
                cells = 0
                yield at, row
        except csv.Error as error:
            raise DataError(
                f"{self.file}, line {at} cannot be taken apart ({error}): check its quotation marks."
            ) from error


def _kinds(width: int, text_columns: Collection[int]) -> Any:
    """Text in these columns, numbers in the others; an empty cell is missing, and a slip of the pen is refused."""
    text, double = arrow().string(), arrow().float64()
    kinds = {f"f{column}": text if column in text_columns else double for column in range(width)}
    return arrow("pyarrow.csv").ConvertOptions(column_types=kinds, null_values=[""])


def _line_ends(text: str, begin: int, end: int) -> int:
    returns = text.count("\r", begin, end)
    both = text.count("\r\n", begin, end) if returns else 0
    return text.count("\n", begin, end) + returns - both


def _is_header(first: Sequence[str], body: _Stretch, label: str | int | None) -> bool:
    if isinstance(label, str):
        return True
    for end in (0, -1):
        name = first[end].strip()
        # A class may be called y as well; but then it comes again.
        if name.lower() in LABELS and not _comes_again(name, body, end):
            return True
    inner = first[1:-1] or first
    # Most cells, not any: a first row with one slip of the pen must be reported, not taken for names.
    return 2 * sum(not _is_number(cell) for cell in inner) > len(inner)


def _comes_again(name: str, body: _Stretch, end: int) -> bool:
    if body.text.find(name, body.begin, body.end) < 0:
        return False  # as for most headers, and at the speed of memory
    return any(cell.strip() == name for cell in body.ends(end))


def _is_number(cell: str) -> bool:
    try:
        number(cell, file="", where="")
    except DataError:
        return False
    return True
