"""The story that rows tell: tables, figures, findings and provenance, before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from noisyrnn.report.ablation import ablation_figures
from noisyrnn.report.claims import Claim, Finding, Verdict, findings
from noisyrnn.report.figures import Figure, figures
from noisyrnn.report.paper import TABLES, TASKS, Task
from noisyrnn.report.rows import Reading, Row
from noisyrnn.report.statements import CLAIMS
from noisyrnn.report.tables import Runs, Table, own_table, runs, table

_DRAWN = 14
_ABOUT = "An experiment of our own: the paper has no numbers for it."
_OWN = {
    "demo": (
        "Handwritten digits",
        "One network trained without and with noise in its hidden states, and used without it, on digits of 8 by 8 "
        "pixels that are read one by one. The paper has no numbers for it.",
    ),
    "table-5-raw-scaled": (
        "Permuted MNIST with pixels from 0 to 255, and noise in proportion",
        "White noise of 0.1, 0.2 and 0.3 times 255: as strong as on pixels between 0 and 1. The paper has no numbers "
        "for it.",
    ),
    "table-2-pgd": ("Ordered MNIST under a stronger attack", "Projected gradient ascent, which the paper did not try."),
    "ablation": (
        "Which noise, and how much",
        "The question that the paper left open, on electrocardiograms: only multiplicative noise, only additive, both.",
    ),
    "rivals": (
        "What one could try instead",
        "Noise on the inputs in training, dropout, adversarial training, stronger noise, on electrocardiograms.",
    ),
    "baseline-search": (
        "How the baselines on electrocardiograms were chosen",
        "The prescription and eight random draws of rates and step sizes for each baseline.",
    ),
    "rivals-search": ("How the strengths of the rivals were chosen", "Four strengths of each, with one seed."),
    "noise-search-ecg": (
        "Noise levels on electrocardiograms",
        "Drawn uniformly between 0.01 and 0.1, as the paper did.",
    ),
    "noise-search-ordered-mnist": (
        "Noise levels on ordered MNIST",
        "Drawn uniformly between 0.01 and 0.1, as the paper did.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One task of the paper or one experiment of our own: its tables, figures and findings.

    An aside is folded on the page: it served to choose settings and shows no results.
    """

    name: str
    title: str
    about: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    findings: tuple[Finding, ...] = ()
    aside: bool = False

    @property
    def statements(self) -> tuple[tuple[str, str, tuple[Finding, ...]], ...]:
        """Findings under the sentence of the paper that they decide: (source, quote, findings)."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for found in self.findings:
            groups.setdefault((found.claim.source, found.claim.quote), []).append(found)
        return tuple((source, quote, tuple(group)) for (source, quote), group in groups.items())


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the rows come from."""

    rows: int
    files: int
    runs: int
    torn: int
    duplicates: int
    conflicts: int
    superseded: int
    hours: float
    first: str
    last: str
    versions: tuple[str, ...]
    hosts: tuple[str, ...]
    protocols: tuple[str, ...]
    data: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything a report shows."""

    chapters: tuple[Chapter, ...]
    missing: tuple[Table, ...]
    undrawn: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Provenance

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many claims got each verdict."""
        counted = Counter(found.verdict for found in self.findings)
        return {verdict: counted[verdict] for verdict in Verdict}


def story(reading: Reading, claims: Sequence[Claim] = CLAIMS) -> Story:
    """The rows as chapters: tasks of the paper that were run, then own experiments; and what was not run."""
    rows = reading.rows
    decided = findings(rows, claims)
    chapters, missing, undrawn = [], [], []
    superseded = 0
    for task in TASKS:
        found = runs(rows, task.experiments)
        superseded += _superseded(rows, task.experiments, found)
        filled = [table(TABLES[name], found) for name in task.tables]
        missing += [empty for empty in filled if not empty.run and not task.variant]
        drawn = figures(task.figure, _figure_title(task), runs(rows, (task.figure, *task.tables)), task)
        if not task.variant and not any(figure.name == task.figure for figure in drawn):
            undrawn.append(task.figure)
        if found:
            chapters.append(
                Chapter(
                    name=task.name,
                    title=task.title,
                    about=task.about,
                    tables=tuple(full for full in filled if full.run),
                    figures=drawn,
                    findings=tuple(one for one in decided if one.claim.task == task.name),
                )
            )
    known = {experiment for task in TASKS for experiment in task.experiments}
    for experiment in sorted({row.experiment for row in rows} - known):
        found = runs(rows, (experiment,))
        superseded += _superseded(rows, (experiment,), found)
        title, about = _OWN.get(experiment, (experiment[:1].upper() + experiment[1:].replace("-", " "), _ABOUT))
        validation = all(row.data.endswith(" validation") for row in rows if row.experiment == experiment)
        # So many curves are better read as numbers.
        many = validation or len({model for model, _ in found}) > _DRAWN
        drawn = ablation_figures(experiment, title, found) or (() if many else figures(experiment, title, found))
        chapters.append(
            Chapter(
                name=experiment,
                title=title,
                about=f"{about} Measured on validation samples, to choose settings." if validation else about,
                tables=(own_table(experiment, found),),
                figures=drawn,
                aside=validation,
                findings=tuple(one for one in decided if one.claim.task == experiment),
            )
        )
    return Story(
        chapters=tuple(sorted(chapters, key=lambda chapter: chapter.aside)),
        missing=tuple(missing),
        undrawn=tuple(undrawn),
        findings=decided,
        provenance=_provenance(reading, superseded),
    )


def _figure_title(task: Task) -> str:
    return f"Test accuracy on {task.title if 'MNIST' in task.title else task.title.lower()} against strength"


def _superseded(rows: Sequence[Row], experiments: Sequence[str], found: Runs) -> int:
    """Measurements that gave way to those of another run; a run that experiments share gives way to nobody."""
    given = {(row.model, row.key, row.column) for row in rows if row.experiment in experiments}
    return len(given) - sum(len(seeds) for measured in found.values() for seeds in measured.values())


def _provenance(reading: Reading, superseded: int) -> Provenance:
    rows = reading.rows
    created = sorted(row.created for row in rows if row.created)
    # A run writes its seconds into each of its rows; it took them once.
    seconds: dict[str, float] = {}
    for row in rows:
        seconds[row.key] = max(seconds.get(row.key, 0.0), row.seconds)

    def several(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(set(values)))

    def parts(row: Row) -> tuple[str, str, str, str]:
        return row.version, row.host, row.protocol, row.data

    versions, hosts, protocols, data = (several(values) for values in zip(*map(parts, rows), strict=True))
    return Provenance(
        rows=len(rows),
        files=reading.files,
        runs=len(seconds),
        torn=reading.torn,
        duplicates=reading.duplicates,
        conflicts=reading.conflicts,
        superseded=superseded,
        hours=sum(seconds.values()) / 3600,
        first=created[0] if created else "",
        last=created[-1] if created else "",
        versions=versions,
        hosts=hosts,
        protocols=protocols,
        data=data,
    )
