"""From a directory of rows to four files: report.html, report.md, report.csv, report.json."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from noisyrnn.disk import save
from noisyrnn.reading import read_results
from noisyrnn.report.page import page
from noisyrnn.report.story import tell
from noisyrnn.report.text import cells, document, markdown


class Documents(NamedTuple):
    """Paths of a report."""

    html: Path
    markdown: Path
    csv: Path
    json: Path


def report(directory: Path | str, out: Path | str) -> Documents:
    """Paths of the page and its Markdown, CSV and JSON, made from the rows of a record or of runs below ``directory``.

    Everything is made before the first file is touched, and each file is replaced at once: a reader never sees half.

    >>> report("no/such/place", "out")
    Traceback (most recent call last):
    ValueError: There is no directory no/such/place; name one that experiments were run into, or a record.
    """
    told = tell(read_results(directory))
    contents = {
        "report.html": page(told),
        "report.md": markdown(told),
        "report.csv": cells(told),
        "report.json": document(told),
    }
    return Documents(*(save(Path(out) / name, content.encode()) for name, content in contents.items()))
