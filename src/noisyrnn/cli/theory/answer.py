"""What a command answers: facts, a table, remarks and a figure; on a terminal, as JSON, into a file."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = str | float | int | bool | None

_FORMATS = (".svg", ".png")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Numbers with names, rows of a table, sentences that belong to them, and how they are drawn."""

    title: str
    facts: dict[str, Value] = field(default_factory=dict)
    rows: list[dict[str, Value]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    figure: Callable[[], Figure]

    def give(self, *, out: Path | None, as_json: bool) -> None:
        """Draw into ``out`` if asked, then print."""
        if out is not None:
            draw(self.figure(), out)
        if as_json:
            document = {
                "title": self.title,
                "facts": {name: _plain(value) for name, value in self.facts.items()},
                "rows": [{name: _plain(value) for name, value in row.items()} for row in self.rows],
                "remarks": self.remarks,
                "figure": None if out is None else str(out),
            }
            typer.echo(json.dumps(document))
            return
        self._print()
        if out is not None:
            typer.echo(f"Figure: {out}")

    def _print(self) -> None:
        from rich.console import Console
        from rich.table import Table

        # Away from a terminal there is no width to keep to.
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=200)
        console.print(self.title, style="bold")
        facts = Table(box=None, show_header=False, pad_edge=False)
        for name, value in self.facts.items():
            facts.add_row(name, text(value))
        console.print(facts)
        if self.rows:
            table = Table(box=None, pad_edge=False, header_style="bold")
            for name in self.rows[0]:
                table.add_column(name, justify="left" if isinstance(self.rows[0][name], str) else "right")
            for row in self.rows:
                table.add_row(*map(text, row.values()))
            console.print(table)
        for remark in self.remarks:
            console.print(remark)


def text(value: Value) -> str:
    """A number with six digits, a truth as yes or no, nothing as a dash.

    >>> text(1 / 3), text(True), text(None)
    ('0.333333', 'yes', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def check_format(out: Path | None) -> None:
    """Refuse a place that cannot be written, or of another format than figures have: before the work, not after it."""
    if out is None:
        return
    from noisyrnn.disk import check_file

    if out.suffix not in _FORMATS:
        raise ValueError(f"Figures are written as {' or '.join(_FORMATS)}, got {out.name!r}; choose one of them.")
    check_file(out)


def draw(figure: Figure, out: Path) -> None:
    """The figure in a file, whole or not at all; the same figure gives the same bytes."""
    import matplotlib

    from noisyrnn.disk import save

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "noisyrnn", "svg.fonttype": "none"}):
        metadata = {"Date": None} if out.suffix == ".svg" else None
        figure.savefig(stream, format=out.suffix.removeprefix("."), dpi=150, metadata=metadata)
    save(out, stream.getvalue())


def _plain(value: Value) -> Value:
    """JSON has no infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
