"""The story that rows tell: tables, figures, findings and provenance, before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from noisyrnn.about import About
from noisyrnn.reading import Results
from noisyrnn.report import labels
from noisyrnn.report.ablation import ablation_figures
from noisyrnn.report.claims import Finding, Verdict, finding
from noisyrnn.report.figures import Figure, figures
from noisyrnn.report.tables import Runs, Table, runs, table
from noisyrnn.rows import Reading, Row

_DRAWN = 14
_ASIDE = "Measured on validation samples, to choose settings."


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """Experiments that are shown together: their tables, figures and findings, and the names of their models.

    An aside is folded on the page: it served to choose settings and shows no results.
    """

    name: str
    title: str
    about: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    names: dict[str, str]
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
    def beside_paper(self) -> bool:
        """Whether any number of the paper stands beside ours."""
        tables = [table for chapter in self.chapters for table in chapter.tables]
        return any(cell.paper is not None for table in tables for line in table.lines for cell in line.cells)

    @property
    def claimed(self) -> tuple[Finding, ...]:
        """What the summary counts: the paper's claims, which have a source there; without any, our own."""
        return tuple(found for found in self.findings if found.claim.source) or self.findings

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many claims got each verdict."""
        counted = Counter(found.verdict for found in self.claimed)
        return {verdict: counted[verdict] for verdict in Verdict}


def tell(results: Results) -> Story:
    """The rows as chapters, in the order in which their experiments are described; and what was not run."""
    rows = results.rows
    groups = _chapters(results)
    chapters, missing, undrawn = [], [], []
    decided: list[Finding] = []
    superseded = 0
    for members in groups:
        place = members[0].place
        ordered = tuple(about.name for about in sorted(members, key=lambda about: about.figure))
        names = labels.names(members, [row for row in rows if row.experiment in ordered])
        found = runs(rows, ordered)
        superseded += _superseded(rows, ordered, found)
        findings = tuple(finding(claim, found, members, names) for about in members for claim in about.claims())
        decided += findings
        filled = [table(about, found, names) for about in members if not about.figure]
        missing += [empty for empty in filled if not empty.run and not place.variant]
        drawn = _figures(members, found, rows, names)
        whole = drawn if not any(about.printed for about in members) else ()
        undrawn += [
            about.name
            for about in members
            if about.figure
            and not place.variant
            and not any(figure.name == about.name for figure in drawn)
            and not (whole and any(row.experiment == about.name for row in rows))
        ]
        if found:
            aside = all(about.aside for about in members)
            chapters.append(
                Chapter(
                    name=place.name,
                    title=place.title,
                    about=f"{place.text} {_ASIDE}" if aside else place.text,
                    tables=tuple(full for full in filled if full.run),
                    figures=drawn,
                    names=names,
                    findings=findings,
                    aside=aside,
                )
            )
    return Story(
        chapters=tuple(sorted(chapters, key=lambda chapter: chapter.aside)),
        missing=tuple(missing),
        undrawn=tuple(undrawn),
        findings=tuple(decided),
        provenance=_provenance(results.reading, superseded),
    )


def _chapters(results: Results) -> list[list[About]]:
    """Experiments by chapter; one that nothing is known of but its rows is a chapter of its own."""
    unknown = sorted({row.experiment for row in results.rows} - results.experiments.keys())
    groups: dict[str, list[About]] = {}
    for about in (*results.experiments.values(), *(About(name=name) for name in unknown)):
        groups.setdefault(about.place.name, []).append(about)
    return list(groups.values())


def _figures(members: Sequence[About], found: Runs, rows: Sequence[Row], names: dict[str, str]) -> tuple[Figure, ...]:
    place, curves = members[0].place, [about.name for about in members if about.figure]
    printed = any(about.printed for about in members)
    if not printed:
        # Rows that vary the noise of training have a figure over it; very many curves are better read as numbers.
        many = all(about.aside for about in members) or len({model for model, _ in found}) > _DRAWN
        return ablation_figures(place.name, place.title, found) or (
            () if many else figures(place.name, place.title, found, names=names)
        )
    title = f"Test accuracy on {place.title if 'MNIST' in place.title else place.title.lower()} against strength"
    tables = [about.name for about in members if not about.figure]
    return figures(curves[0] if curves else place.name, title, runs(rows, (*curves, *tables)), members, names)


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
        return row.version, row.host, row.protocol_label, labels.data(row)

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
