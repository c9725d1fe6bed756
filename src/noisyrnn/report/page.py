"""The story as one HTML page: styles and drawings inside, nothing from the network, no scripts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import copysign, sqrt
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from noisyrnn.report import labels
from noisyrnn.report.claims import Finding, Verdict, tally
from noisyrnn.report.story import Chapter, Story
from noisyrnn.report.svg import drawing, swatch
from noisyrnn.report.tables import FAR
from noisyrnn.rows import SEEDS, Column

_HERE = Path(__file__).parent
_SIGNS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNDECIDED: "?", Verdict.NOT_RUN: "○"}
_CLASSES = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNDECIDED: "undecided", Verdict.NOT_RUN: "missing"}
_WIDTH, _EDGE = 140.0, 6.0


def page(story: Story) -> str:
    """The page; every name in it is escaped."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"signed": labels.signed, "printed": labels.printed, "date": _date}
    return environment.get_template("page.html.j2").render(
        story=story,
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        decided=any(found.verdict is not Verdict.NOT_RUN for found in story.claimed),
        headline=headline(story),
        title="Noisy recurrent networks: "
        + ("our runs beside the paper" if story.beside_paper else "what disturbances do"),
        labels=labels,
        heads=heads,
        tally=tally,
        rivals=rivals,
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
    counts, whose = story.counts, "the paper" if story.beside_paper else "these experiments"
    decided = counts[Verdict.HOLDS] + counts[Verdict.FAILS]
    open_claims = counts[Verdict.UNDECIDED] + counts[Verdict.NOT_RUN]
    if not decided and not counts[Verdict.UNDECIDED]:
        return f"No claim of {whose} is touched by these rows."
    if not decided:
        return f"None of the {len(story.claimed)} claims of {whose} is decided yet: more seeds are needed."
    hold, fail = counts[Verdict.HOLDS], counts[Verdict.FAILS]
    first = f"Of {len(story.claimed)} claims of {whose}, {hold or 'none'} {'hold' if hold > 1 else 'holds'} in our runs"
    second = f"{fail or 'none'} {'do' if fail > 1 else 'does'} not"
    rest = f"; {open_claims} {'is' if open_claims == 1 else 'are'} open" if open_claims else ""
    return f"{first} and {second}{rest}."


def heads(columns: Iterable[Column]) -> list[tuple[str, list[str]]]:
    """Column heads in two levels: the measure, and its strengths.

    >>> heads([("clean", 0.0), ("white", 0.1), ("white", 0.2)])
    [('Clean', ['']), ('White noise', ['σ = 0.1', 'σ = 0.2'])]
    """
    groups = groupby(columns, key=lambda column: column[0])
    return [(labels.measure(name), [labels.strength(column) for column in group]) for name, group in groups]


def rivals(findings: Iterable[Finding], names: dict[str, str]) -> str:
    """Who was to be compared with whom, each pair once."""
    claims = [found.claim for found in findings]
    pairs = [f"{names.get(one.better, one.better)} with {names.get(one.worse, one.worse)}" for one in claims]
    return "; ".join(dict.fromkeys(pairs))


def whiskers(found: Finding, chapter: Chapter) -> Markup:
    """The interval as a small drawing: a dot with whiskers, the paper's difference as a hollow diamond.

    Within a chapter all have one scale; it goes with the square root, so that small differences can be seen.
    """
    first, last = _range(chapter)

    def across(points: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * (_root(points) - first) / (last - first)

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
        f'<svg class="whiskers {_CLASSES[found.verdict]}" viewBox="0 0 140 20" width="140" height="20" '
        f'aria-hidden="true">{inside}</svg>'
    )


def _range(chapter: Chapter) -> tuple[float, float]:
    """The roots of the least and the greatest difference to draw; zero is always among them."""
    run = [found for found in chapter.findings if found.verdict is not Verdict.NOT_RUN]
    parts = [(found.difference, found.low, found.high, found.paper, found.claim.margin) for found in run]
    roots = [_root(end) for part in parts for end in part if end is not None]
    first, last = min(roots, default=0.0), max(roots, default=0.0)
    return min(first, 0.0), max(last, 1.0 if first == 0 else 0.0)


def _root(points: float) -> float:
    return copysign(sqrt(abs(points)), points)


def _date(created: str) -> str:
    return created[:10]
