"""The page of results: its report is that of the recorded rows, and the numbers in its text are the report's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from noisyrnn.report import report

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "results"


def test_report_is_that_of_the_recorded_rows(tmp_path: Path) -> None:
    report(ROOT / "results", tmp_path)
    assert json.loads((tmp_path / "report.json").read_text()) == json.loads((PAGES / "report.json").read_text())
    assert (tmp_path / "report.md").read_text() == (PAGES / "report.md").read_text()


def test_numbers_are_current_and_a_stale_one_is_found(tmp_path: Path) -> None:
    shutil.copy(PAGES.parent / "marks.py", tmp_path)
    shutil.copytree(PAGES, tmp_path / "results", ignore=shutil.ignore_patterns("*.svg", "*.html"))
    page = tmp_path / "results" / "README.md"
    right, wrong = "<!--n:networks-->19<!--/n-->", "<!--n:networks-->18<!--/n-->"
    assert right in page.read_text()
    page.write_text(page.read_text().replace(right, wrong))
    # One run shows both: the altered number is the only stale one.
    command = [sys.executable, str(tmp_path / "results" / "make.py"), "--check"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.strip() == "Stale; run docs/results/make.py: networks is 19, quoted as 18."
