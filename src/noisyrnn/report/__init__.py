"""Reports: rows in; tables, figures, decided claims and one page out. Reads rows only, and never imports torch."""

from noisyrnn.report.claims import Claim, Finding, Verdict, interval
from noisyrnn.report.files import Documents, report
from noisyrnn.report.rows import Reading, Row, read
from noisyrnn.report.statements import CLAIMS
from noisyrnn.report.story import Story, story

__all__ = [
    "CLAIMS",
    "Claim",
    "Documents",
    "Finding",
    "Reading",
    "Row",
    "Story",
    "Verdict",
    "interval",
    "read",
    "report",
    "story",
]
