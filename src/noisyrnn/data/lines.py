"""Lines of a text one by one: a list of all of them can take fifty times the memory of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines(text: str, first: int = 1, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, str]]:
    """Numbers, counted from ``first``, and lines with their ends, of the text between two places.

    >>> list(lines("a\\r\\nb\\n\\nc"))
    [(1, 'a\\r\\n'), (2, 'b\\n'), (3, '\\n'), (4, 'c')]
    """
    for number, found in enumerate(_LINE.finditer(text, begin, len(text) if end is None else end), start=first):
        yield number, found[0]
