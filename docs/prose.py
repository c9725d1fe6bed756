"""Markdown whose prose is wrapped: templates may break their lines where calls are readable, pages have even lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

WIDTH = 120
_AS_IT_IS = ("|", "#", "    ", ">", "<", "![")
"""Beginnings of tables, headings, code, quotations, markup and pictures."""


def wrapped(caller: Callable[[], str]) -> str:
    """The text between {% call wrapped() %} and {% endcall %}: paragraphs and lists in lines of at most 120 characters.

    >>> print(wrapped(lambda: "# Noise\\n\\n\\nA\\nword.\\n\\n- one\\n  item\\n- two\\n\\n| a |\\n|---|"))
    # Noise
    <BLANKLINE>
    A word.
    <BLANKLINE>
    - one item
    - two
    <BLANKLINE>
    | a |
    |---|
    """
    return "\n\n".join("\n".join(_block(block)) for block in _blocks(caller()))


def _blocks(text: str) -> Iterator[list[str]]:
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def _block(lines: list[str]) -> list[str]:
    if lines[0].startswith(_AS_IT_IS):
        return lines
    if not lines[0].startswith("- "):
        return _filled(lines)
    items: list[list[str]] = []
    for line in lines:
        if line.startswith("- "):
            items.append([line.removeprefix("- ")])
        else:
            items[-1].append(line)
    return [line for item in items for line in _filled(item, first="- ", rest="  ")]


def _filled(lines: list[str], first: str = "", rest: str = "") -> list[str]:
    text = " ".join(line.strip() for line in lines)
    filled = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    # A sign at the beginning of a line would make it something else; such a line goes on from the one before.
    for number in range(len(filled) - 1, 0, -1):
        if filled[number].strip().startswith(("- ", "+ ", "* ", "# ", "> ", "| ")):
            filled[number - 1 : number + 1] = [f"{filled[number - 1]} {filled[number].strip()}"]
    return filled
