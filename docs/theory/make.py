"""Compute every number that README.md quotes and draw its figures.

    python docs/theory/make.py            rewrite the numbers between their markers, and the figures
    python docs/theory/make.py --check    fail if a quoted number is stale; draw nothing

A number stands in the page as <!--n:key-->0.5<!--/n-->. Draws come from fixed keys, so that a number is the same at
every run; estimates are quoted with as many digits as their standard errors allow.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from drawn import FIGURES
from quoted import SECTIONS

from noisyrnn.cli.theory.answer import draw

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
MARK = re.compile(r"<!--n:([\w.-]+)-->(.*?)<!--/n-->")


def main() -> None:
    page = PAGE.read_text()
    numbers = {key: value for section in SECTIONS for key, value in section()}
    quoted = dict(MARK.findall(page))
    if unknown := quoted.keys() - numbers.keys():
        sys.exit(f"{PAGE.name} quotes numbers that make.py does not compute: {', '.join(sorted(unknown))}.")
    if "--check" in sys.argv[1:]:
        stale = [f"{key} is {numbers[key]}, quoted as {old}" for key, old in quoted.items() if numbers[key] != old]
        sys.exit(f"Stale; run docs/theory/make.py: {'; '.join(stale)}." if stale else 0)
    PAGE.write_text(MARK.sub(lambda found: f"<!--n:{found[1]}-->{numbers[found[1]]}<!--/n-->", page))
    for name, figure in FIGURES.items():
        draw(figure(), HERE / f"{name}.svg")


if __name__ == "__main__":
    main()
