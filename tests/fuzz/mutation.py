"""Damage: real files altered byte by byte, and as values where they are JSON."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

NUMBERS = (
    b"0", b"-1", b"1", b"2", b"255", b"65536", b"2147483648", b"4294967295", b"9223372036854775808", b"1e308", b"1e400",
    b"-1e400", b"NaN", b"1e-400", b"0.5", b"99999999999999999999999999999999",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 7, 1000, 10**6, 10**9, 2**31, 2**63, 10**30, 0.5, -0.5, 1e-300, 1e308,
    float("nan"), float("inf"), "", "x", "0", "nan", "../../x", "/etc/passwd", "\u2028", "\x85", "a\nb", "\ud800",
    "x" * 5000, [], {}, [[]], [None],
    {"kind": "noisy"}, {"kind": "table", "path": "/etc/passwd"}, {"": 1}, [0] * 100,
)  # fmt: skip
_TOKEN = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def deep(random: Random) -> Any:
    """Brackets in brackets."""
    value: Any = 1
    for _ in range(random.choice((10, 100, 180))):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value


def altered_bytes(content: bytes, random: Random, other: bytes = b"") -> bytes:
    """The content after a few alterations of its bytes."""
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        content = _altered(content, random, other)
    return content[: 2**21]


def _altered(content: bytes, random: Random, other: bytes) -> bytes:
    at = random.randrange(len(content) + 1)
    end = min(len(content), at + random.choice((1, 2, 4, 8, 64, 1000)))
    match random.randrange(11):
        case 0 if at < len(content):
            return content[:at] + bytes([content[at] ^ (1 << random.randrange(8))]) + content[at + 1 :]
        case 1:
            return content[:at] + bytes([random.choice((0, 1, 10, 13, 34, 44, 127, 128, 255))]) + content[end:]
        case 2:
            return content[:at] + random.randbytes(random.choice((1, 2, 8, 40))) + content[at:]
        case 3:
            return content[:at] + content[end:]
        case 4:
            return content[:at] + content[at:end] * random.choice((2, 3, 100)) + content[end:]
        case 5:
            return content[:at]
        case 6:
            size = random.choice((2, 4, 8))
            number = random.choice((0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** (8 * size - 1) - 1))
            return content[:at] + number.to_bytes(size, random.choice(("little", "big"))) + content[at + size :]
        case 7 if found := list(_TOKEN.finditer(content)):
            token = random.choice(found)
            return content[: token.start()] + random.choice(NUMBERS) + content[token.end() :]
        case 8 if b"\n" in content:
            lines = content.split(b"\n")
            random.shuffle(lines)
            return b"\n".join(lines[: random.randrange(1, len(lines) + 1)])
        case 9 if other:
            start = random.randrange(len(other))
            return content[:at] + other[start : start + random.choice((4, 100, 5000))] + content[end:]
    return content[::-1] if random.random() < 0.02 else content + random.randbytes(random.randrange(20))


def altered_value(value: Any, random: Random) -> Any:
    """A JSON value with one of its parts replaced, removed, renamed or moved."""
    parts = [*_parts(value, ())]
    path = random.choice(parts)
    new = deep(random) if random.random() < 0.05 else random.choice(VALUES)
    if not path:
        return new
    owner = value = json.loads(json.dumps(value))
    for name in path[:-1]:
        owner = owner[name]
    last = path[-1]
    match random.randrange(6):
        case 0:
            del owner[last]
        case 1 if isinstance(owner, dict):
            owner[random.choice(("", f"{last}s", "kind", "a\nb", "x" * 300))] = owner.pop(last)
        case 2 if isinstance(owner, list):
            owner *= random.choice((2, 50))
        case 3:
            other = random.choice(parts)
            found = value
            for name in other:
                found = found[name]
            owner[last] = json.loads(json.dumps(found))
        case _:
            owner[last] = new
    return value


def _parts(value: Any, path: tuple[Any, ...]) -> Any:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield from _parts(part, (*path, name))


def altered_json(content: bytes, random: Random, other: bytes = b"") -> bytes:
    """JSON altered as a value, or as bytes, or both."""
    if random.random() < 0.3:
        return altered_bytes(content, random, other)
    value = json.loads(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        value = altered_value(value, random)
    text = json.dumps(value, indent=random.choice((None, 1)))
    return text.encode() if random.random() < 0.95 else altered_bytes(text.encode(), random, other)


def altered_lines(content: bytes, random: Random, other: bytes = b"") -> bytes:
    """One JSON object per line: one of the lines altered."""
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    if lines[at].strip():
        lines[at] = altered_json(lines[at], random, other)
    return b"\n".join(lines) if random.random() < 0.8 else altered_bytes(b"\n".join(lines), random, other)
