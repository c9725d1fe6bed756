"""Drawings: a panel as inline SVG, in colours that the page chooses.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; marker and line style differ as well.
The SVG names its colours by CSS variables, so that the page can give each a value for light, dark and print.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from noisyrnn.report.figures import Curve, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ((), (6, 2), (2, 1.5), (6, 2, 1.5, 2), (4, 1.5), (8, 2, 2, 2), (1, 1))
# Stand-ins that no drawing uses otherwise; each is replaced by a CSS variable once the SVG is written.
_INK, _GRID, _PAPER = "#010101", "#020202", "#030303"
_COLOURS = {_INK: "var(--ink-soft)", _GRID: "var(--grid)", _PAPER: "var(--paper)"} | {
    f"#0404{style:02x}": f"var(--curve-{style})" for style in range(len(MARKERS))
}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none", "font.size": 11, "text.color": _INK, "axes.labelcolor": _INK, "axes.edgecolor": _GRID,
    "xtick.color": _INK, "ytick.color": _INK, "grid.color": _GRID, "axes.axisbelow": True, "axes.spines.top": False,
    "axes.spines.right": False, "axes.spines.left": False, "ytick.major.size": 0, "xtick.major.size": 3,
    "grid.linewidth": 0.7,
}  # fmt: skip


def drawing(panel: Panel, name: str) -> Markup:
    """The panel as an SVG element with title and description, fit to stand inside a page; ``name`` is its identity."""
    # Imported here, so that tables and text need not wait for it.
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        canvas = Canvas(figsize=(5.4, 3.8))
        axes = canvas.add_axes((0.125, 0.15, 0.865, 0.82))
        for curve in panel.curves:
            _band(axes, curve)
        for curve in panel.curves:
            _line(axes, curve)
        axes.grid(axis="y")
        axes.set_xlabel(panel.axis)
        if panel.level is not None:
            # Strengths in training are powers, and none at all is among them.
            levels = [level for curve in panel.curves for level in curve.levels if level]
            axes.set_xscale("symlog", linthresh=min(levels, default=1.0))
            axes.set_xticks([0, *sorted(set(levels))], labels=["0", *(f"{level:g}" for level in sorted(set(levels)))])
            axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g} %")
        axes.margins(x=0.03)
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(stream.getvalue(), panel, name)


def swatch(style: int) -> Markup:
    """A short piece of the curve with its marker, for the legend."""
    shapes = {
        "o": '<circle cx="16" cy="7" r="4"/>',
        "s": '<rect x="12.4" y="3.4" width="7.2" height="7.2"/>',
        "^": '<path d="M16 2.4 20.4 11H11.6Z"/>',
        "D": '<path d="M16 2 21 7 16 12 11 7Z"/>',
        "v": '<path d="M16 11.6 11.6 3H20.4Z"/>',
        "P": '<path d="M14.4 2.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2V8.6h-2.9V5.4h2.9Z"/>',
        "X": '<path d="m12.2 5 1.8-1.8 2 2 2-2L19.8 5l-2 2 2 2L18 10.8l-2-2-2 2L12.2 9l2-2Z"/>',
    }
    dash = " ".join(f"{length * 1.8:g}" for length in DASHES[style])
    colour = f"var(--curve-{style})"
    return Markup(
        f'<svg class="swatch" viewBox="0 0 32 14" width="32" height="14" aria-hidden="true" fill="{colour}">'
        f'<path d="M0 7H32" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        f"{shapes[MARKERS[style]]}</svg>"
    )


def _band(axes: Axes, curve: Curve) -> None:
    points = list(zip(curve.means, curve.deviations, strict=True))
    low = [centre - spread for centre, spread in points]
    high = [centre + spread for centre, spread in points]
    axes.fill_between(curve.levels, low, high, color=f"#0404{curve.style:02x}", alpha=0.18, linewidth=0)


def _line(axes: Axes, curve: Curve) -> None:
    colour, marker = f"#0404{curve.style:02x}", MARKERS[curve.style]
    line = axes.plot(curve.levels, curve.means, color=colour, marker=marker, markersize=4.5, linewidth=1.8, zorder=3)[0]
    if DASHES[curve.style]:
        line.set_dashes(DASHES[curve.style])
    # The paper's points are hollow and larger, so that they stay visible around ours.
    axes.plot(
        [level for level, _ in curve.printed], [number for _, number in curve.printed],
        linestyle="none", marker=marker, markersize=8, markerfacecolor="none", markeredgecolor=colour,
        markeredgewidth=1.1, zorder=2,
    )  # fmt: skip


def _inline(svg: str, panel: Panel, name: str) -> Markup:
    """The SVG without its file header and sizes, with identities of its own, colours of the page and words."""
    svg = svg[svg.index("<svg") :]
    box = re.search(r'viewBox="([^"]+)"', svg)
    body = svg[svg.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    safe = re.sub(r"[^a-z0-9-]", "-", name.lower())
    body = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{safe}-", body)
    for sentinel, colour in _COLOURS.items():
        body = body.replace(sentinel, colour)
    # Sizes stay; the family is the page's own.
    body = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", body)
    head = (
        f'<svg class="drawing" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" viewBox="{box[1] if box else ""}" aria-labelledby="{safe}-title {safe}-text">'
        f'<title id="{safe}-title">Accuracy under {escape(panel.heading.lower())}</title>'
        f'<desc id="{safe}-text">{escape(panel.description)}</desc>'
    )
    return Markup(head + body.strip())
