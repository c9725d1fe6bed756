"""The page on theory: its snippets run, its figures are there, and it is what its template says now."""

from __future__ import annotations

import doctest
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "theory" / "README.md"


@pytest.fixture(scope="module")
def scripts() -> tuple[ModuleType, ModuleType]:
    """docs/render.py and docs/theory/values.py, which are scripts beside their pages and no package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        patch.syspath_prepend(str(DOCS / "theory"))
        import render
        import values

        return render, values


@pytest.fixture(scope="module")
def numbers(scripts: tuple[ModuleType, ModuleType]) -> Mapping[str, object]:
    return scripts[1].values()


def test_snippets() -> None:
    failed, tried = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert failed == 0
    assert tried > 10


def test_figures_are_there() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE.read_text())
    assert len(shown) == 6
    assert all((PAGE.parent / name).read_text().startswith("<?xml") for name in shown)


def test_the_page_is_plain_to_read_and_to_compare() -> None:
    first, *lines = PAGE.read_text().splitlines()
    assert first == "<!-- Made from docs/templates/theory.md.j2 by make docs; edit that. -->"
    assert not [line for line in lines if "<!--" in line or "{{" in line]
    assert not [line for line in lines if len(line) > 120 and not line.startswith("|")]


@pytest.mark.timeout(1800)
def test_the_page_is_what_its_template_says_now(
    scripts: tuple[ModuleType, ModuleType], numbers: Mapping[str, object]
) -> None:
    scripts[0].render("theory.md.j2", PAGE, numbers, check=True)


def test_a_stale_number_is_found(
    scripts: tuple[ModuleType, ModuleType], numbers: Mapping[str, object], tmp_path: Path
) -> None:
    stale = tmp_path / "README.md"
    text = PAGE.read_text()
    assert text.count("Q = -0.004926") == 1
    stale.write_text(text.replace("Q = -0.004926", "Q = -0.004927"))
    before = stale.read_text()
    line = text[: text.index("Q = -0.004926")].count("\n") + 1
    with pytest.raises(SystemExit, match=rf"README\.md is stale at line {line}, .*0\.004927.*0\.004926.*`make docs`\."):
        scripts[0].render("theory.md.j2", stale, numbers, check=True)
    assert stale.read_text() == before
