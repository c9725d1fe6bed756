"""The story as one HTML page: styles and drawings inside, nothing from the network, no scripts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from noisyrnn.report import labels
from noisyrnn.report.claims import Finding, Verdict
from noisyrnn.report.drawing import drawing, swatch
from noisyrnn.report.paper import SEEDS, Column
from noisyrnn.report.story import Chapter, Story
from noisyrnn.report.tables import FAR

_HERE = Path(__file__).parent
_SIGNS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNDECIDED: "?", Verdict.NOT_RUN: "–"}
_CLASSES = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNDECIDED: "undecided", Verdict.NOT_RUN: "missing"}
_HALF = 50.0


def page(story: Story) -> str:
    """The page; every name in it is escaped."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"signed": labels.signed, "printed": labels.printed, "date": _date}
    return environment.get_template("page.html.j2").render(
        story=story,
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        decided=any(found.verdict is not Verdict.NOT_RUN for found in story.findings),
        headline=headline(story),
        labels=labels,
        heads=heads,
        tally=tally,
        whiskers=whiskers,
        drawing=drawing,
        swatch=swatch,
        signs=_SIGNS,
        classes=_CLASSES,
        far=FAR,
        full=SEEDS,
    )


def headline(story: Story) -> str:
    """What the reader wants to know first, in one or two sentences.

    The counts are the code's; nobody edits them.
    """
    counts = story.counts
    decided = counts[Verdict.HOLDS] + counts[Verdict.FAILS]
    open_claims = counts[Verdict.UNDECIDED] + counts[Verdict.NOT_RUN]
    if not decided and not counts[Verdict.UNDECIDED]:
        return "No claim of the paper is touched by these rows."
    if not decided:
        return f"None of the paper's {len(story.findings)} claims is decided yet: more seeds are needed."
    first = f"Of the paper's {len(story.findings)} claims, {counts[Verdict.HOLDS]} hold in our runs"
    second = f"{counts[Verdict.FAILS]} {'does' if counts[Verdict.FAILS] == 1 else 'do'} not"
    rest = f"; {open_claims} {'is' if open_claims == 1 else 'are'} open" if open_claims else ""
    return f"{first} and {second}{rest}."


def heads(columns: Iterable[Column]) -> list[tuple[str, list[str]]]:
    """Column heads in two levels: the measure, and its strengths.

    >>> heads([("clean", 0.0), ("white", 0.1), ("white", 0.2)])
    [('Clean', ['']), ('White noise', ['σ = 0.1', 'σ = 0.2'])]
    """
    groups = groupby(columns, key=lambda column: column[0])
    return [(labels.measure(name), [labels.strength(column) for column in group]) for name, group in groups]


def tally(findings: Iterable[Finding]) -> str:
    """Verdicts counted in words.

    >>> tally([])
    'nothing claimed'
    """
    verdicts = [found.verdict for found in findings]
    words = [f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts]
    return ", ".join(words) or "nothing claimed"


def whiskers(found: Finding, chapter: Chapter) -> Markup:
    """The interval as a small drawing: a dot with whiskers, the paper's difference as a hollow diamond.

    Within a chapter all have one scale; what lies outside its middle range is drawn at the edge, with an arrow.
    """
    reach = _reach(chapter)

    def across(points: float) -> float:
        return _HALF + (_HALF - 6) * max(-1.0, min(1.0, points / reach))

    parts = [f'<path class="axis" d="M{across(found.claim.margin):.1f} 1V19"/>']
    if found.paper is not None:
        x = across(found.paper)
        parts.append(f'<path class="printed" d="M{x:.1f} 5 {x + 5:.1f} 10 {x:.1f} 15 {x - 5:.1f} 10Z"/>')
    if found.low is not None and found.high is not None:
        left, right = across(found.low), across(found.high)
        parts.append(f'<path class="bar" d="M{left:.1f} 10H{max(right, left + 0.5):.1f}"/>')
        parts += [f'<path class="bar" d="M{end:.1f} 6.5V13.5"/>' for end in (left, right)]
    if found.difference is not None:
        parts.append(f'<circle class="dot" cx="{across(found.difference):.1f}" cy="10" r="3.6"/>')
    inside = "".join(parts)
    return Markup(
        f'<svg class="whiskers {_CLASSES[found.verdict]}" viewBox="0 0 100 20" width="100" height="20" '
        f'aria-hidden="true">{inside}</svg>'
    )


def _reach(chapter: Chapter) -> float:
    ends = [
        abs(end) for found in chapter.findings for end in (found.difference, found.paper, found.claim.margin) if end
    ]
    return max(ends, default=1.0) * 1.1


def _date(created: str) -> str:
    return created[:10]
