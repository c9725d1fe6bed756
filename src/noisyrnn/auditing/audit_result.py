"""The result of an audit: what was found, and what is done with it."""

from __future__ import annotations

from pathlib import Path

from noisyrnn.auditing.files import save
from noisyrnn.auditing.findings import Audited
from noisyrnn.auditing.requirement import Requirement
from noisyrnn.auditing.words import summary


class Audit(Audited):
    """What was found of every classifier; ``save`` writes the page, JSON and CSV."""

    def failing(self, *requirements: str) -> list[str]:
        """One sentence for each requirement that does not hold, such as "noise@3 >= 0.9" or "worst >= 0.6"."""
        return [said for text in requirements for said in Requirement.parse(text).failures(self.reports)]

    def summary(self) -> str:
        """Five lines for a terminal."""
        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def save(self, path: str | Path) -> Path:
        """The page ``path`` (a name that ends in .html, or a directory), with .json and .csv beside it."""
        return save(self, Path(path))
