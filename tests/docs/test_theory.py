"""The tour of the theory: its snippets run, and its numbers are those that the code computes."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "theory"


def check(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(directory / "make.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_snippets() -> None:
    failed, tried = doctest.testfile(
        str(PAGES / "README.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert failed == 0
    assert tried > 10


def test_figures_are_there() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (PAGES / "README.md").read_text())
    assert len(shown) == 6
    assert all((PAGES / name).read_text().startswith("<?xml") for name in shown)


@pytest.mark.timeout(1800)
def test_numbers_are_current_and_a_stale_one_is_found(tmp_path: Path) -> None:
    shutil.copytree(PAGES, tmp_path / "theory")
    shutil.copy(PAGES.parent / "marks.py", tmp_path)
    page = tmp_path / "theory" / "README.md"
    text = page.read_text()
    assert "<!--n:Q-->-0.004926<!--/n-->" in text
    page.write_text(text.replace("<!--n:Q-->-0.004926<!--/n-->", "<!--n:Q-->-0.004927<!--/n-->"))
    # One run shows both: the altered number is the only stale one.
    ended = check(tmp_path / "theory")
    assert ended.returncode == 1
    assert ended.stderr.strip() == "Stale; run docs/theory/make.py: Q is -0.004926, quoted as -0.004927."
