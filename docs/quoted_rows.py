"""What the pages on results say of the recorded rows: accuracies, ours and the paper's, whole tables, verdicts.

The rows are read once, into the story that ``noisyrnn.report`` tells. A template calls, for instance,

    {{ accuracy("table-1", "lipschitz", "white", 0.3, epochs=100) }}    61.5, the mean over the seeds that were run
    {{ paper("table-1", "lipschitz", "white", 0.3) }}                   47.1
    {{ table("table-3") }}                                              the whole table, ours beside the paper's

A table has the name of its experiment, a model that of its recipe, as ``noisyrnn list`` gives them; a measure is named
as in the rows. Where no measure is named, inputs are clean. What was not run is an error, never an empty place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import mean

from noisyrnn.report import Story
from noisyrnn.report.claims import Finding, Verdict, tally
from noisyrnn.report.labels import signed
from noisyrnn.report.tables import Cell, Line, Table
from noisyrnn.report.text import markdown_claims, markdown_table


def _protocols(found: Iterable[Finding]) -> str:
    """Protocols in words, each once, those with more seeds first."""
    told = sorted({(-one.seeds, one.protocol) for one in found if one.protocol})
    said = [protocol if "seeds" in protocol else f"{protocol}, seeds {-seeds}" for seeds, protocol in told]
    return "; ".join(said) or "not run"


EPOCHS = 100
"""The paper's training; an accuracy after fewer has to be asked for."""


class Recorded:
    """The functions that templates call, over the story that the rows tell."""

    def __init__(self, told: Story) -> None:
        self._told = told
        tables = [table for chapter in told.chapters for table in chapter.tables]
        self._tables = {table.name: table for table in (*tables, *told.missing)}
        self._chapters = {chapter.name: chapter for chapter in told.chapters}

    def values(self) -> Mapping[str, object]:
        """The functions by the names that they have in templates."""
        names = (
            "accuracy", "paper", "difference", "paper_difference", "away", "furthest", "lost", "paper_lost", "lowest",
            "highest", "best", "table", "claims", "verdicts", "sentences", "opposed", "decided_by", "ran",
            "recorded", "seeds",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def accuracy(
        self, table: str, model: str, measure: str = "clean", level: float = 0.0, *, epochs: int = EPOCHS
    ) -> str:
        """Our mean accuracy in percent."""
        return f"{self._ours(table, model, measure, level, epochs):.1f}"

    def paper(self, table: str, model: str, measure: str = "clean", level: float = 0.0) -> str:
        """The paper's accuracy in percent, with one digit."""
        return f"{self._papers(table, model, measure, level):.1f}"

    def difference(
        self, table: str, model: str, other: str, measure: str = "clean", level: float = 0.0, *,
        epochs: int | tuple[int, int] = EPOCHS,
    ) -> str:  # fmt: skip
        """Points by which our ``model`` is ahead of our ``other``; two numbers of epochs are one for each."""
        own, others = (epochs, epochs) if isinstance(epochs, int) else epochs
        ahead = self._ours(table, model, measure, level, own) - self._ours(table, other, measure, level, others)
        return f"{ahead:z.1f}"

    def paper_difference(self, table: str, model: str, other: str, measure: str = "clean", level: float = 0.0) -> str:
        """Points by which the paper's ``model`` is ahead of its ``other``."""
        ahead = self._papers(table, model, measure, level) - self._papers(table, other, measure, level)
        return f"{ahead:z.1f}"

    def away(self, table: str, model: str, measure: str, *, epochs: int = EPOCHS) -> str:
        """Points between ours and the paper's under a measure, on average over its levels."""
        return f"{mean(self._distances(table, model, measure, epochs)):.1f}"

    def furthest(self, table: str, model: str, measure: str, *, epochs: int = EPOCHS) -> str:
        """Points between ours and the paper's under a measure, at the level where it is most."""
        return f"{max(self._distances(table, model, measure, epochs)):.1f}"

    def lost(self, table: str, model: str, measure: str, level: float, *, epochs: int = EPOCHS) -> str:
        """Points that a disturbance takes from our clean accuracy."""
        clean = self._ours(table, model, "clean", 0.0, epochs)
        return f"{clean - self._ours(table, model, measure, level, epochs):z.1f}"

    def paper_lost(self, table: str, model: str, measure: str, level: float) -> str:
        """Points that a disturbance takes from the paper's clean accuracy."""
        clean = self._papers(table, model, "clean", 0.0)
        return f"{clean - self._papers(table, model, measure, level):z.1f}"

    def lowest(self, table: str, models: Iterable[str], measure: str = "clean", level: float = 0.0) -> str:
        """The lowest of our mean accuracies of several models."""
        return f"{min(self._ours(table, model, measure, level, EPOCHS) for model in models):.1f}"

    def highest(self, table: str, models: Iterable[str], measure: str = "clean", level: float = 0.0) -> str:
        """The highest of our mean accuracies of several models."""
        return f"{max(self._ours(table, model, measure, level, EPOCHS) for model in models):.1f}"

    def best(self, table: str) -> str:
        """The model with the highest mean over all columns, as tables name it."""
        return max(self._named(table).lines, key=lambda line: sum(cell.mean or 0.0 for cell in line.cells)).name

    def table(self, name: str) -> str:
        """The whole table with its caption and its note: ours, the paper's in brackets, seeds, epochs, protocol."""
        return "\n".join(markdown_table(self._named(name), heading=False)).strip()

    def claims(self, task: str) -> str:
        """What the paper claims of a task, sentence by sentence, with our verdicts."""
        return "\n".join(markdown_claims(self._chapters[task])).strip()

    def verdicts(self, task: str | None = None) -> str:
        """How many claims, of one task or of all, hold, do not hold, are undecided and were not run."""
        return tally(self._told.claimed if task is None else self._chapters[task].findings)

    def sentences(self) -> str:
        """A table of the paper's sentences: how many comparisons decide each, and how, under which protocols."""
        lines = ["| the paper says | of | comparisons | verdicts | decided by |", "|---|---|--:|---|---|"]
        for chapter in self._told.chapters:
            for source, quote, found in chapter.statements:
                if source:
                    cells = (
                        f"“{quote}”",
                        f"{source}, {chapter.title}",
                        str(len(found)),
                        tally(found),
                        _protocols(found),
                    )
                    lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def opposed(self) -> str:
        """Each comparison that comes out against the paper, with its interval; a sentence where there is none."""
        against = [found for found in self._told.claimed if found.verdict is Verdict.FAILS]
        lines = [
            f"- *{found.sentence}* ({found.claim.source}): {signed(found.difference or 0.0)} points, 95 % interval "
            f"{signed(found.low or 0.0)} to {signed(found.high or 0.0)}, {found.protocol}."
            for found in against
        ]
        return "\n".join(lines) or "No comparison comes out against the paper."

    def decided_by(self, task: str) -> str:
        """The protocols that decide the claims on a task, with the seeds that are paired."""
        return _protocols(self._chapters[task].findings)

    def ran(self, table: str, *models: str) -> bool:
        """Whether rows of a table, and of all these models in it, are recorded: what else a page says of it waits."""
        shown = self._tables[table].lines if table in self._tables else ()
        found = {line.model for line in shown if line.seeds}
        return bool(found) and found.issuperset(models)

    def seeds(self, table: str) -> str:
        """How many seeds the lines of a table have: one number, or the fewest and the most."""
        counts = [line.seeds for line in self._named(table).lines if line.seeds]
        return " to ".join(str(count) for count in dict.fromkeys((min(counts), max(counts))))

    def recorded(self) -> str:
        """How many rows of how many runs all this is made from."""
        return f"{self._told.provenance.rows} rows of {self._told.provenance.runs} runs"

    def _ours(self, table: str, model: str, measure: str, level: float, epochs: int) -> float:
        found = self._cell(self._line(table, model, epochs), table, measure, level).mean
        if found is None:
            raise LookupError(
                f"{model} was not measured under {measure} {level:g} in {table}; run it, or quote another."
            )
        return found

    def _papers(self, table: str, model: str, measure: str, level: float) -> float:
        lines = [line for line in self._named(table).lines if line.model == model]
        found = {self._cell(line, table, measure, level).paper for line in lines} - {None}
        if not found:
            raise LookupError(f"The paper has no accuracy of {model} under {measure} {level:g} in {table}.")
        (number,) = found
        return float(number or 0.0)

    def _distances(self, table: str, model: str, measure: str, epochs: int) -> list[float]:
        cells = [cell for cell in self._line(table, model, epochs).cells if cell.column[0] == measure]
        found = [abs(cell.difference) for cell in cells if cell.difference is not None]
        if not found:
            raise LookupError(f"{model} under {measure} in {table} has nothing to compare with the paper.")
        return found

    def _named(self, table: str) -> Table:
        if table not in self._tables:
            raise LookupError(f"There is no table {table!r}; choose one of {', '.join(sorted(self._tables))}.")
        return self._tables[table]

    def _line(self, table: str, model: str, epochs: int) -> Line:
        lines = [line for line in self._named(table).lines if (line.model, line.epochs) == (model, str(epochs))]
        if len(lines) != 1:
            raise LookupError(f"{table} has {len(lines)} lines of {model!r} after {epochs} epochs, not one.")
        return lines[0]

    def _cell(self, line: Line, table: str, measure: str, level: float) -> Cell:
        for cell in line.cells:
            if cell.column == (measure, level):
                return cell
        raise LookupError(f"{table} has no column {measure} {level:g}.")
