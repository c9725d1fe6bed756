"""Reports: rows in; tables, figures, decided claims and one page out. Reads files only, and never imports torch."""

from noisyrnn.about import About, Chapter, Claim, Printed, Statement
from noisyrnn.reading import Results, read_results
from noisyrnn.report.claims import Finding, Verdict, interval
from noisyrnn.report.files import Documents, report
from noisyrnn.report.story import Story, tell
from noisyrnn.rows import Reading, Row

__all__ = [
    "About",
    "Chapter",
    "Claim",
    "Documents",
    "Finding",
    "Printed",
    "Reading",
    "Results",
    "Row",
    "Statement",
    "Story",
    "Verdict",
    "interval",
    "read_results",
    "report",
    "tell",
]
