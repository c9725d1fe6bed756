"""From a directory of rows to four files: report.html, report.md, report.csv, report.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from noisyrnn.disk import replaced
from noisyrnn.report.claims import Claim
from noisyrnn.report.page import page
from noisyrnn.report.rows import read
from noisyrnn.report.statements import CLAIMS
from noisyrnn.report.story import story
from noisyrnn.report.text import cells, document, markdown


class Documents(NamedTuple):
    """Paths of a report."""

    html: Path
    markdown: Path
    csv: Path
    json: Path


def report(directory: Path | str, out: Path | str, claims: Sequence[Claim] = CLAIMS) -> Documents:
    """Paths of the page and its Markdown, CSV and JSON, made from every rows.jsonl below ``directory``.

    Everything is made before the first file is touched, and each file is replaced at once: a reader never sees half.

    >>> report("no/such/place", "out")
    Traceback (most recent call last):
    ValueError: There is no directory no/such/place; name the directory that holds the rows of a run.
    """
    told = story(read(directory), claims)
    contents = {
        "report.html": page(told),
        "report.md": markdown(told),
        "report.csv": cells(told),
        "report.json": document(told),
    }
    out = Path(out)
    try:
        return Documents(*(replaced(out / name, content.encode()) for name, content in contents.items()))
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"The report cannot be written to {out}: {reason}; name another directory.") from error
