"""Numbers that a page quotes, each between marks, as <!--n:key-->0.5<!--/n-->: rewritten, or only checked."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

MARK = re.compile(r"<!--n:([\w.-]+)-->(.*?)<!--/n-->")


def settle(page: Path, numbers: Mapping[str, str], *, check: bool) -> None:
    """Every quoted number as it is computed; with ``check`` the page stays, and a stale number ends the program."""
    text = page.read_text()
    quoted = MARK.findall(text)
    name = f"docs/{page.parent.name}"
    if unknown := {key for key, _ in quoted} - numbers.keys():
        sys.exit(f"{name}/{page.name} quotes numbers that nothing computes: {', '.join(sorted(unknown))}.")
    if check:
        stale = [f"{key} is {numbers[key]}, quoted as {old}" for key, old in quoted if numbers[key] != old]
        sys.exit(f"Stale; run {name}/make.py: {'; '.join(stale)}." if stale else 0)
    page.write_text(MARK.sub(lambda found: f"<!--n:{found[1]}-->{numbers[found[1]]}<!--/n-->", text))
