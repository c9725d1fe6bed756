"""The story as Markdown for people, CSV for spreadsheets and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict

from noisyrnn.report import labels
from noisyrnn.report.claims import Finding, Verdict, tally
from noisyrnn.report.story import Chapter, Story
from noisyrnn.report.tables import FAR, Cell, Line, Table

CSV_COLUMNS = (
    "table", "model", "protocol", "measure", "level", "mean", "deviation", "seeds", "epochs", "paper", "difference",
    "status",
)  # fmt: skip


def markdown(story: Story) -> str:
    """Tables and claims as GitHub shows them."""
    lines = ["# Noisy recurrent networks: our runs beside the paper", ""]
    lines += ["Test accuracy in percent: ours as mean ± standard deviation over seeds, then the paper's number and the"]
    lines += ["difference in points. Bold is the highest mean of its column within one protocol, of any number of"]
    lines += ["seeds.", ""]
    if any(found.verdict is not Verdict.NOT_RUN for found in story.claimed):
        whose = "the paper" if story.beside_paper else "these experiments"
        lines += [f"**Claims of {whose}:** {tally(story.claimed)}.", ""]
    for chapter in story.chapters:
        lines += [f"## {_plain(chapter.title)}", "", _plain(chapter.about), ""]
        for table in chapter.tables:
            lines += markdown_table(table)
        lines += markdown_claims(chapter)
    for table in story.missing:
        lines += [f"## {_plain(table.name)}: not run", "", f"`noisyrnn run {_code(table.name)}` makes its rows.", ""]
    origin = story.provenance
    lines += ["## Provenance", ""]
    when = _plain(f"{origin.first} to {origin.last}")
    lines += [f"- {origin.rows} rows of {origin.runs} runs in {origin.files} files, {when}"]
    left = f"{origin.torn} torn lines, {origin.duplicates} duplicates, {origin.superseded} superseded rows"
    lines += [f"- left out: {left}"]
    for name in ("versions", "hosts", "protocols", "data"):
        lines += [f"- {name}: {_plain('; '.join(getattr(origin, name)))}"]
    return "\n".join(lines) + "\n"


def cells(story: Story) -> str:
    """One line a cell, in CSV, what was not run included."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table, line, cell in _cells(story):
        numbers = (cell.mean, cell.deviation, cell.paper, cell.difference)
        mean, deviation, paper, difference = ("" if number is None else f"{number:.6g}" for number in numbers)
        writer.writerow(
            (
                _harmless(table.name), _harmless(line.model), _harmless(line.protocol), _harmless(cell.column[0]),
                f"{cell.column[1]:g}", mean, deviation, cell.seeds, line.epochs, paper, difference, status(cell),
            )
        )  # fmt: skip
    return stream.getvalue()


def document(story: Story) -> str:
    """Everything in JSON: cells, findings, curves, provenance."""
    content = {
        "tables": [
            {
                "table": table.name, "model": line.model, "protocol": line.protocol, "own": line.own,
                "epochs": line.epochs, "measure": cell.column[0], "level": cell.column[1], "mean": cell.mean,
                "deviation": cell.deviation, "seeds": cell.seeds, "paper": cell.paper, "difference": cell.difference,
                "far": cell.far, "status": status(cell),
            }
            for table, line, cell in _cells(story)
        ],
        "claims": [
            {**asdict(found), "claim": found.claim._asdict(), "verdict": str(found.verdict)}
            for found in story.findings
        ],
        "counts": {str(verdict): count for verdict, count in story.counts.items()},
        "figures": [asdict(figure) for chapter in story.chapters for figure in chapter.figures],
        "not run": [table.name for table in story.missing] + list(story.undrawn),
        "provenance": asdict(story.provenance),
    }  # fmt: skip
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def status(cell: Cell) -> str:
    """Whether a cell was run, and whether it is far from the paper's number."""
    if cell.mean is None:
        return "not run"
    return f"more than {FAR:g} points from the paper" if cell.far else "run"


def _cells(story: Story) -> Iterator[tuple[Table, Line, Cell]]:
    tables = [table for chapter in story.chapters for table in chapter.tables]
    for table in (*tables, *story.missing):
        for line in table.lines:
            for cell in line.cells:
                yield table, line, cell


def markdown_table(table: Table, *, heading: bool = True) -> list[str]:
    """Lines of a table: ours and the paper's numbers in each cell, under a caption where it has one."""
    heads = [f"{labels.measure(column[0])} {labels.strength(column)}".strip() for column in table.columns]
    lines = [f"### {_plain(table.name)}", ""] if heading and table.caption else []
    lines += [_plain(table.caption), ""] if table.caption else []
    lines += ["| model | seeds | epochs | protocol | " + " | ".join(map(_plain, heads)) + " |"]
    lines += ["|---|--:|--:|---|" + "--:|" * len(heads)]
    for line in table.lines:
        head = (_plain(line.name), str(line.seeds or ""), line.epochs, _plain(line.protocol))
        lines += ["| " + " | ".join((*head, *(_markdown_cell(cell, line.seeds) for cell in line.cells))) + " |"]
    return [*lines, "", *([_plain(table.note), ""] if table.note else [])]


def _markdown_cell(cell: Cell, seeds: int) -> str:
    if cell.mean is None:
        return "not run" if cell.paper is None else f"not run ({labels.printed(cell.paper)})"
    ours = f"{cell.mean:.1f}" + (f" ± {cell.deviation:.1f}" if cell.deviation is not None else "")
    ours = f"**{ours}**" if cell.best else ours
    if cell.paper is not None and cell.difference is not None:
        ours += f" ({labels.printed(cell.paper)}, {labels.signed(cell.difference)})"
    return ours if cell.seeds == seeds else f"{ours}, {cell.seeds} of {seeds} seeds"


def markdown_claims(chapter: Chapter) -> list[str]:
    """Lines of what the paper claims of a task: each of its sentences, and below it a table of verdicts."""
    lines = []
    for source, quote, found in chapter.statements:
        lines += [f"> {_plain(quote)}" + (f" ({_plain(source)})" if source else ""), ""]
        lines += ["| claim | paper | ours | 95 % interval | seeds | protocol | verdict |"]
        lines += ["|---|--:|--:|--:|--:|---|---|"]
        lines += [markdown_finding(one) for one in found] + [""]
    return lines


def markdown_finding(found: Finding) -> str:
    """A claim, the difference in the paper and in ours, its interval and the verdict: one row of a table."""

    def points(number: float | None) -> str:
        return "" if number is None else labels.signed(number)

    bounds = "" if found.low is None else f"{points(found.low)} to {points(found.high)}"
    seeds = str(found.seeds or "")
    parts = (found.sentence, points(found.paper), points(found.difference), bounds, seeds, found.protocol)
    return "| " + " | ".join(map(_plain, parts)) + f" | **{found.verdict}** |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no new cell, no new line."""
    for sign in "\\`*_[]<>|&#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _code(text: str) -> str:
    """Text between backticks."""
    return " ".join(text.replace("`", "").replace("<", "").split())


def _harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
