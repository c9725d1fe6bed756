"""An audit as files: the page, JSON and CSV, each whole or not at all."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from noisyrnn import disk
from noisyrnn.auditing.findings import Audited
from noisyrnn.auditing.page import page


def save(audit: Audited, path: Path) -> Path:
    """The page's path: ``path`` itself if it ends in .html, else audit.html in the directory ``path``."""
    target = path if path.suffix.lower() in {".html", ".htm"} else path / "audit.html"
    disk.check_directory(target.parent)
    disk.save(target, page(audit).encode())
    disk.save(target.with_suffix(".json"), audit.model_dump_json(indent=1).encode())
    disk.save(target.with_suffix(".csv"), as_csv(audit).encode())
    return target


def as_csv(audit: Audited) -> str:
    """One line for each classifier, fault and severity."""
    stream = io.StringIO()
    rows = audit.table()
    if rows:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return stream.getvalue()
