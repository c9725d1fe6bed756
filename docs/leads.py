"""Is a recipe ahead of all others in every column? In each the best other one beside it, and what separates the two.

Both means are over the seeds that the two have in common; the interval is that of their paired differences. A template
calls {{ lead("rivals-mnist", "lipschitz fgsm training 0.02", epochs=30) }} for the table, or one of its counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

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

    ``among`` names the others, if not all are meant.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        table: str,
        model: str,
        *,
        epochs: int | None = None,
        among: Collection[str] | None = None,
    ) -> None:
        own = [row for row in rows if row.experiment == table]
        names = labels.names((), own)
        kept = [
            row
            for row in own
            if epochs in (None, row.epochs) and (among is None or row.model == model or row.model in among)
        ]
        measured: dict[str, Mapping[Column, dict[int, Row]]] = {
            name: columns for (name, _), columns in runs(kept, [table]).items()
        }
        if model not in measured:
            raise LookupError(f"{table} has no rows of {model!r}; run it, or name another.")
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
