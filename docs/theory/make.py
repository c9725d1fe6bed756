"""Compute every number that README.md quotes and draw its figures.

    python docs/theory/make.py            rewrite the numbers between their markers, and the figures
    python docs/theory/make.py --check    fail if a quoted number is stale; draw nothing

A number stands in the page as <!--n:key-->0.5<!--/n-->. Draws come from fixed keys, so that a number is the same at
every run; estimates are quoted with as many digits as their standard errors allow.
"""

from __future__ import annotations

import sys
from pathlib import Path

from drawn import FIGURES
from quoted import SECTIONS

from noisyrnn.cli.theory.answer import draw

sys.path.append(str(Path(__file__).parents[1]))
from marks import settle

HERE = Path(__file__).parent


def main() -> None:
    numbers = {key: value for section in SECTIONS for key, value in section()}
    settle(HERE / "README.md", numbers, check="--check" in sys.argv[1:])
    for name, figure in FIGURES.items():
        draw(figure(), HERE / f"{name}.svg")


if __name__ == "__main__":
    main()
