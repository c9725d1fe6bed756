"""The leaderboard of docs/leaderboard.md, from the rows of studies/audit_archive.py."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from noisyrnn.disk import replace
from noisyrnn.perturb import Group, severities
from noisyrnn.rows import Row, rows_in

HERE = Path(__file__).parent
ROWS, PAGE = HERE.parent / "studies/audit_archive.jsonl", HERE / "leaderboard.md"
REFERENCE, OURS = "1-nn euclidean", "noisy rnn"
Scores = dict[str, float]
"""Accuracy by measure: clean, and the mean over severities of each fault."""

HEAD = """# A leaderboard under sensor faults

Classifiers of sets that come with aeon, under the [table of faults](audit.md#faults-and-severities): accuracy in
percent, mean over severities and sets. Made by `make leaderboard`, which goes on where it was stopped; the tables say
what was not run. At most 200 test series of a set, one seed, usual settings, nothing tuned here; the default of ours
(noisy rnn, with its companion) was chosen on splits of training parts, among them those of gunpoint, italypowerdemand
and arrowhead. A small board, and a first one: with so few sets a difference of a few points decides nothing.

"leave one group out": trained on clean series and copies with faults; the figure for a group of faults is that of a
training without this group, and the clean figure is the mean of these trainings. "own faults" is our classifier as it
comes, with its own mixture of faults in training: its figures leave out the faults that it declares to have seen, so
that they are over fewer faults, and not to be ranked with the others. mCE is against 1-NN by Euclidean distance,
trained on clean series; below 1 is better.

"""


def scores(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, Scores]]:
    """By model and training, by set: scores; what a classifier has seen in training is left out."""
    clean: dict[tuple[str, str, str], list[float]] = {}
    found: dict[tuple[str, str], dict[str, Scores]] = {}
    for row in rows:
        training = row.description.variant.partition(", without")[0]
        own = found.setdefault((row.model, training), {}).setdefault(row.task, {})
        if row.measure == "clean":
            clean.setdefault((row.model, training, row.task), []).append(row.value)
        elif not row.data.get("seen"):
            own[row.measure] = row.value
    for (model, training, task), values in clean.items():
        found[model, training][task]["clean"] = mean(values)
    return found


def corruption_error(own: Scores, reference: Scores) -> float:
    """Mean over faults of own error over the reference's."""
    faults = [fault for fault in own if fault != "clean" and reference.get(fault, 100.0) < 100]
    return mean((100 - own[fault]) / (100 - reference[fault]) for fault in faults)


def page(rows: Iterable[Row]) -> str:
    """All of it as Markdown: means over the sets that every line has, then set by set."""
    found = scores(rows)
    groups = {name: graded.group for name, graded in severities().items()}
    ranked = {line: sets for line, sets in found.items() if line[0] != REFERENCE}
    shared = sorted(set.intersection(*(set(sets) for sets in found.values())))
    lines = []
    for (model, training), sets in found.items():
        per = [_line(sets[task], found[REFERENCE, "clean"][task], groups) for task in shared]
        means = [mean(one[place] for one in per) for place in range(len(per[0]))]
        lines.append((means, f"| {model} | {training} | " + " | ".join(_cells(means)) + " |"))
    # Figures over fewer faults come last.
    lines.sort(key=lambda one: ("| own faults |" in one[1], -one[0][4]))
    text = f"{HEAD}## Over {_list(shared)}\n\n"
    text += "| classifier | trained on | clean | value | availability | timing | all faults | worst fault | mCE |\n"
    text += "|---|---|--:|--:|--:|--:|--:|--:|--:|\n"
    text += "\n".join(line for _, line in lines)
    text += f"\n\n{_standing(lines)}\n\n{_behind(found)}\n\n## Set by set: all faults (clean)\n\n"
    tasks = sorted({task for sets in ranked.values() for task in sets})
    text += f"| classifier | trained on | {' | '.join(tasks)} |\n|---|---|{'--:|' * len(tasks)}\n"
    for (model, training), sets in found.items():
        cells = [_cell(sets[task]) if task in sets else "not run" for task in tasks]
        text += f"| {model} | {training} | {' | '.join(cells)} |\n"
    return text


def _standing(lines: list[tuple[list[float], str]]) -> str:
    """Where ours stands among those that were trained on clean series, whichever place that is."""
    names = [line.split(" | ")[0].removeprefix("| ") for _, line in lines if " | clean | " in line]
    if OURS not in names:
        return "Ours was not run."
    return (
        f"Of {len(names)} classifiers trained on clean series, {names[0]} keeps most under faults; ours ({OURS}) is "
        f"number {names.index(OURS) + 1}."
    )


def _behind(found: dict[tuple[str, str], dict[str, Scores]]) -> str:
    """Where another, trained on clean series as ours was, is ahead of it: set by set, with faults and without."""
    plain = {model: sets for (model, training), sets in found.items() if training == "clean"}
    said = []
    for task, own in plain.get(OURS, {}).items():
        for what, value in (("under faults", _all_faults), ("without faults", _clean)):
            reached, best = max((value(sets[task]), model) for model, sets in plain.items() if task in sets)
            if reached > value(own):
                said.append(f"{task} {what} ({best} {reached:.1f}, ours {value(own):.1f})")
    return f"Ours is not the first on {'; '.join(said)}." if said else ""


def _all_faults(own: Scores) -> float:
    return mean(value for fault, value in own.items() if fault != "clean")


def _clean(own: Scores) -> float:
    return own["clean"]


def _line(own: Scores, reference: Scores, groups: dict[str, Group]) -> list[float]:
    by = {group: [value for fault, value in own.items() if groups.get(fault) is group] for group in Group}
    faults = [value for fault, value in own.items() if fault != "clean"]
    each = [mean(values) if values else float("nan") for values in by.values()]
    return [own["clean"], *each, mean(faults), min(faults), corruption_error(own, reference)]


def _cells(means: list[float]) -> list[str]:
    return [*(f"{value:.1f}" if value == value else "seen" for value in means[:-1]), f"{means[-1]:.2f}"]


def _cell(own: Scores) -> str:
    return f"{_all_faults(own):.1f} ({own['clean']:.1f})"


def _list(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def write(path: Path = PAGE) -> None:
    """The page, from the recorded rows."""
    replace(path, page(rows_in(ROWS)[0]).encode())


if __name__ == "__main__":
    write()
