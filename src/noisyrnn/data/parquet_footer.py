"""How many values a Parquet file announces, read from its footer (Thrift's compact protocol) without the help of C++.

pyarrow's own view of a column's metadata ends the whole process where a stranger has altered its histograms.

    file = ... footer, length of the footer (4 bytes, little endian), PAR1
    footer: {4: row groups [{1: columns [{3: metadata {5: values, 6: bytes when unfolded}}]}]}
"""

from __future__ import annotations

from typing import Any, NamedTuple

_DEEPEST = 32
_NUMBERS, _CONTAINERS = (4, 5, 6), (9, 10)
_FIXED = {3: 1, 7: 8, 13: 16}  # bytes of a small integer, a double and a uuid


class Announced(NamedTuple):
    """Values of all columns, those in lists included, and bytes of them."""

    values: int
    unfolded: int


def announced(content: bytes) -> Announced:
    """What the footer says; ValueError where it is damaged.

    >>> announced(b"PAR1 and nothing more")
    Traceback (most recent call last):
    ValueError: it has no footer
    """
    length = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != b"PAR1" or not 0 < length <= len(content) - 8:
        raise ValueError("it has no footer")
    values = unfolded = 0
    for group in _list(_Footer(content[-8 - length : -8]).struct(0), 4):
        for column in _list(group, 1):
            about = column.get(3) if isinstance(column, dict) else None
            numbers: list[Any] = [about.get(field) for field in (5, 6)] if isinstance(about, dict) else [None]
            if not all(isinstance(number, int) and number >= 0 for number in numbers):
                raise ValueError("a column does not say how many values it has")
            values, unfolded = values + numbers[0], unfolded + numbers[1]
    return Announced(values, unfolded)


def _list(struct: Any, field: int) -> list[Any]:
    found = struct.get(field, []) if isinstance(struct, dict) else None
    if not isinstance(found, list):
        raise ValueError("its footer has another form")
    return found


class _Footer:
    """Structs as dictionaries from field numbers to values; texts are passed over."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def struct(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            found[number] = self.value(head & 15, depth, alone=True)
        return found

    def value(self, kind: int, depth: int, *, alone: bool) -> Any:
        if depth > _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        if kind in (1, 2):  # true and false: in a list a byte of its own
            return kind == 1 if alone else self.byte() == 1
        if kind in _NUMBERS:
            return self.integer()
        if kind in _FIXED:
            return self.pass_over(_FIXED[kind])
        if kind == 8:
            return self.pass_over(self.varint())
        if kind in _CONTAINERS:
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            self.refuse_beyond(size)
            return [self.value(head & 15, depth + 1, alone=False) for _ in range(size)]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("its footer has a field of an unknown kind")  # maps, too: Parquet has none

    def byte(self) -> int:
        self.refuse_beyond(1)
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("its footer has a number that is too large")

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def pass_over(self, count: int) -> None:
        self.refuse_beyond(count)
        self.at += count

    def refuse_beyond(self, count: int) -> None:
        if count > len(self.content) - self.at:
            raise ValueError("its footer is cut off")
