"""Drawings of an audit as inline SVG: curves over severities or radii, and a series clean beside disturbed.

Colours are those of Okabe and Ito by CSS variables of the page; dashes and markers differ as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

STYLES = 7
_DASHES = ("", "6 3", "2 2", "7 2 2 2", "4 2", "9 3", "1 2")
_MARKS = ("circle", "square", "triangle", "diamond", "circle", "square", "triangle")


@dataclass(frozen=True)
class Line:
    """Points of one classifier, its style, and the band around it."""

    name: str
    style: int
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()


def chart(
    title: str, lines: Sequence[Line], ticks: Sequence[tuple[float, str]], *, width: int = 260, height: int = 150
) -> Markup:
    """Shares from 0 to 1 over the places of ``ticks``."""
    left, right, top, bottom = 34.0, 8.0, 8.0, 24.0
    places = [place for place, _ in ticks]
    first, last = min(places), max(places)
    across = (width - left - right) / ((last - first) or 1)

    def x(place: float) -> float:
        return left + (place - first) * across

    def y(share: float) -> float:
        return top + (1 - share) * (height - top - bottom)

    parts = [f'<path class="grid" d="M{left} {y(share):.1f}H{width - right}"/>'
             f'<text class="tick" x="{left - 5}" y="{y(share) + 4:.1f}" text-anchor="end">{100 * share:.0f}</text>'
             for share in (0.0, 0.5, 1.0)]  # fmt: skip
    parts += [f'<text class="tick" x="{x(place):.1f}" y="{height - 7}" text-anchor="middle">{escape(text)}</text>'
              for place, text in ticks]  # fmt: skip
    for line in lines:
        colour = f"var(--curve-{line.style % STYLES})"
        if line.band:
            up = " ".join(f"{x(p):.1f},{y(high):.1f}" for (p, _), (_, high) in zip(line.points, line.band, strict=True))
            down = " ".join(
                f"{x(p):.1f},{y(low):.1f}" for (p, _), (low, _) in reversed([*zip(line.points, line.band, strict=True)])
            )
            parts.append(f'<polygon points="{up} {down}" fill="{colour}" opacity="0.15"/>')
        path = " ".join(f"{x(place):.1f},{y(share):.1f}" for place, share in line.points)
        dash = _DASHES[line.style % STYLES]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')  # fmt: skip
        parts += [_mark(x(place), y(share), line.style) for place, share in line.points]
    said = "; ".join(f"{line.name}: " + ", ".join(f"{100 * share:.0f}" for _, share in line.points) for line in lines)
    return _svg(title, said, width, height, "".join(parts))


def pair(
    title: str, clean: Sequence[float], disturbed: Sequence[float], *, width: int = 320, height: int = 130
) -> Markup:
    """A series clean (dashed) and disturbed (solid)."""
    values = [*clean, *disturbed]
    low, high = min(values), max(values)
    size = (high - low) or 1.0

    def path(series: Sequence[float]) -> str:
        step = (width - 8) / max(len(series) - 1, 1)
        return " ".join(
            f"{4 + place * step:.1f},{6 + (high - value) / size * (height - 12):.1f}"
            for place, value in enumerate(series)
        )

    body = (
        f'<polyline points="{path(disturbed)}" fill="none" stroke="var(--curve-0)" stroke-width="1.8"/>'
        f'<polyline points="{path(clean)}" fill="none" stroke="var(--ink)" stroke-width="1.2" stroke-dasharray="4 3"/>'
    )
    return _svg(title, "dashed: as recorded; solid: disturbed", width, height, body)


def swatch(style: int) -> Markup:
    """A piece of the curve for the legend."""
    colour = f"var(--curve-{style % STYLES})"
    return Markup(
        f'<svg class="swatch" viewBox="0 0 36 14" width="36" height="14" aria-hidden="true">'
        f'<path d="M0 7H36" stroke="{colour}" stroke-width="2" stroke-dasharray="{_DASHES[style % STYLES]}"/>'
        f"{_mark(18.0, 7.0, style)}</svg>"
    )


def _mark(x: float, y: float, style: int) -> str:
    colour, kind = f"var(--curve-{style % STYLES})", _MARKS[style % STYLES]
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>'
    if kind == "square":
        return f'<rect x="{x - 2.9:.1f}" y="{y - 2.9:.1f}" width="5.8" height="5.8" fill="{colour}"/>'
    points = {
        "triangle": ((0, -3.8), (3.6, 2.8), (-3.6, 2.8)),
        "diamond": ((0, -4), (4, 0), (0, 4), (-4, 0)),
    }[kind]
    return f'<polygon points="{" ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)}" fill="{colour}"/>'


def _svg(title: str, text: str, width: int, height: int, body: str) -> Markup:
    return Markup(
        f'<svg class="drawing" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}: {escape(text)}" '
        f'preserveAspectRatio="xMidYMid meet"><title>{escape(title)}</title>{body}</svg>'
    )
