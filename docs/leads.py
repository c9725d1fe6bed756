"""Is a recipe ahead of all others in every column? In each the best other one beside it, and what separates the two.

Both means are over the seeds that the two have in common; the interval is that of their paired differences. A template
calls {{ lead("rivals-mnist", "lipschitz fgsm training 0.02", epochs=30) }} for the table, or one of its counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from noisyrnn.report import Row, labels
from noisyrnn.report.claims import interval
from noisyrnn.report.tables import mean, runs
from noisyrnn.rows import Column


@dataclass(frozen=True, kw_only=True)
class Lead:
    """One column: the recipe, and the best of the others by its mean there."""

    column: Column
    own: float
    rival: str
    other: float
    low: float | None
    high: float | None


class Leads:
    """The leads of one recipe over all others of a table, column by column; printed, a Markdown table of them.

    The tables are one or more, for recipes that are beside each other on the same test samples. ``among`` are
    labels or patterns of the others, separated by commas, as ``noisyrnn run --models`` takes them.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        tables: str | Sequence[str],
        model: str,
        *,
        epochs: int | None = None,
        among: str = "*",
    ) -> None:
        several = [tables] if isinstance(tables, str) else list(tables)
        own = [row for row in rows if row.experiment in several]
        names = labels.names((), own)
        kept = [
            row
            for row in own
            if epochs in (None, row.epochs)
            and any(fnmatchcase(row.model, pattern) for pattern in (model, *among.split(",")))
        ]
        measured: dict[str, Mapping[Column, dict[int, Row]]] = {
            name: columns for (name, _), columns in runs(kept, several).items()
        }
        if model not in measured:
            raise LookupError(f"{', '.join(several)} has no rows of {model!r}; run it, or name another.")
        self._others = len(measured) - 1
        self._leads = tuple(_leads(measured, model, names))

    def __str__(self) -> str:
        lines = ["| column | this recipe | best of the others | which | difference | 95 % interval |"]
        lines.append("|---|--:|--:|---|--:|--:|")
        for one in self._leads:
            between = "one seed"
            if one.low is not None and one.high is not None:
                between = f"{labels.signed(one.low)} to {labels.signed(one.high)}"
            place = f"{labels.measure(one.column[0])} {labels.strength(one.column)}".strip()
            cells = f"{one.own:.1f} | {one.other:.1f} | {one.rival} | {labels.signed(one.own - one.other)} | {between}"
            lines.append(f"| {place} | {cells} |")
        return "\n".join(lines)

    def others(self) -> str:
        """How many other recipes there are."""
        return str(self._others)

    def columns(self) -> str:
        """How many columns there are."""
        return str(len(self._leads))

    def ahead(self) -> str:
        """In how many columns the mean is above all others'."""
        return str(sum(one.own > one.other for one in self._leads))

    def decided(self) -> str:
        """In how many columns the whole interval lies above zero."""
        return str(sum(one.low is not None and one.low > 0 for one in self._leads))


def _leads(
    measured: Mapping[str, Mapping[Column, dict[int, Row]]], model: str, names: Mapping[str, str]
) -> Iterator[Lead]:
    for column, own in measured[model].items():
        others = {name: columns[column] for name, columns in measured.items() if name != model and column in columns}
        if not others:
            continue
        rival = max(others, key=lambda name: mean([row.value for row in others[name].values()]))
        seeds = sorted(own.keys() & others[rival].keys())
        pairs = [own[seed].value - others[rival][seed].value for seed in seeds]
        low, high = interval(pairs) if len(pairs) > 1 else (None, None)
        yield Lead(
            column=column,
            own=mean([own[seed].value for seed in seeds]),
            rival=names[rival],
            other=mean([others[rival][seed].value for seed in seeds]),
            low=low,
            high=high,
        )
