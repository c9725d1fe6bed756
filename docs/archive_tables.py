"""The tables of docs/classifier-table.md, from the rows of studies/archive_table.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev

from archive_sets import REPORTED
from archive_table import DISTURBANCES, UNSEEN

from noisyrnn.disk import read, replace

HERE = Path(__file__).parent
ROWS, PAGE = HERE.parent / "studies/archive_table.json", HERE / "classifier-table.md"
Row = Mapping[str, float]
SYSTEMS = (
    "NoisyRNNClassifier",
    "NoisyRNNClassifier, network alone",
    "NoisyRNNClassifier, causal",
    "LSTM in the recipe",
    "LSTM in the recipe, network alone",
    "MiniRocket, FaultTrained",
    "MiniRocket",
    "1-NN DTW",
    "LSTM, plain",
    "NoisyRNNClassifier, other faults",
    "NoisyRNNClassifier, other faults, network alone",
    "MiniRocket, other faults",
)
OURS = "NoisyRNNClassifier"
GOALS = (
    (OURS, "MiniRocket", "clean", -2.0),
    (OURS, "MiniRocket", "disturbed", 12.0),
    (OURS, "1-NN DTW", "disturbed", 12.0),
    (f"{OURS}, other faults", "MiniRocket", "unseen kinds", 8.0),
    (f"{OURS}, other faults", "1-NN DTW", "unseen kinds", 8.0),
    (OURS, "MiniRocket, FaultTrained", "clean", 0.0),
    (OURS, "MiniRocket, FaultTrained", "disturbed", 2.0),
)
"""What was to be reached, set beforehand: system, rival, measure, and points ahead at the least."""
ALONE = ", network alone"
CHOSEN = (
    ("3000 steps, hidden noise 0", f"3000 steps, hidden noise 0{ALONE}"),
    (f"3000 steps, hidden noise 0{ALONE}", f"3000 steps, hidden noise 0.1{ALONE}"),
    (f"3000 steps, hidden noise 0.1{ALONE}", f"1200 steps, hidden noise 0.1{ALONE}"),
)
"""Candidates of the search that were preferred, and to which others."""
MEASURES = ("clean", "disturbed", "unseen kinds", "fgsm 0.1", "pgd 0.1", "fit seconds")

HEAD = """# The classifier beside its rivals

Made by `python studies/archive_table.py` and `make docs`. Accuracy in percent on sets that were used for no choice (at
most 500 training and 400 test series of each), mean over the sets that were run, and the standard deviation over seeds
where there are several. *disturbed* is the mean over nine disturbances in deviations of the training data:
{faults}.
*unseen kinds* are those of them but white noise, for the systems "other faults", which were trained on another mixture
(white noise, scale, wander, zeroed samples), and for those trained on none. Attacks are on at most 200 series, where
there are gradients. Fit seconds are processor time of one thread on a busy machine, the first MiniRocket's with its
compilation.

A classifier with a companion ([classifier.md](classifier.md)) has two lines: the pair, which is what one gets by
default, and its network alone. Only networks have gradients, so that attacks are on those alone.

"""


def scores(row: Row, system: str) -> dict[str, float]:
    """What the table shows of a row."""
    found = {name: 100 * row[name] for name in ("clean", "fgsm 0.1", "pgd 0.1") if name in row}
    found["disturbed"] = 100 * mean(row[name] for name in DISTURBANCES)
    if "other faults" in system or system in ("MiniRocket", "1-NN DTW", "LSTM, plain"):
        found["unseen kinds"] = 100 * mean(row[name] for name in UNSEEN)
    return {**found, "fit seconds": row["fit seconds"]}


def by_system(rows: Mapping[str, Row]) -> dict[str, dict[tuple[str, int], dict[str, float]]]:
    """Scores by system, then by set and seed."""
    found: dict[str, dict[tuple[str, int], dict[str, float]]] = {}
    for key, row in rows.items():
        name, system, seed = key.split(" | ")
        found.setdefault(system, {})[name, int(seed)] = scores(row, system)
    return found


def cell(own: Mapping[tuple[str, int], Mapping[str, float]], measure: str) -> str:
    """Mean over sets of the mean over seeds; with several seeds the deviation of their means."""
    sets: dict[str, list[float]] = {}
    seeds: dict[int, list[float]] = {}
    for (name, seed), row in own.items():
        if measure in row:
            sets.setdefault(name, []).append(row[measure])
            seeds.setdefault(seed, []).append(row[measure])
    if not sets:
        return ""
    whole = len(seeds) > 1 and {len(values) for values in seeds.values()} == {len(sets)}
    spread = f" ± {stdev(map(mean, seeds.values())):.1f}" if whole else ""
    return f"{mean(map(mean, sets.values())):.1f}{spread}"


def ahead(found: Mapping[str, Mapping[tuple[str, int], Mapping[str, float]]], goal: tuple[str, str, str, float]) -> str:
    """A line of the goals: points ahead of the rival, in the mean over the sets and seeds that both were run on."""
    system, rival, measure, least = goal
    ours, theirs = found.get(system, {}), found.get(rival, {})
    # A rival that draws nothing was run once, and stands for every seed.
    once = {name: row for (name, _), row in theirs.items()} if len({seed for _, seed in theirs}) == 1 else {}
    pairs: dict[str, list[float]] = {}
    for (name, seed), row in ours.items():
        other = theirs.get((name, seed)) or (once.get(name) if rival == "1-NN DTW" else None)
        if other is not None and measure in row and measure in other:
            pairs.setdefault(name, []).append(row[measure] - other[measure])
    asked = f"{least:+.0f}" if least else "0"
    if not pairs:
        return f"| {system} | {rival} | {measure} | {asked} | not run | |"
    points, runs = mean(mean(values) for values in pairs.values()), sum(map(len, pairs.values()))
    reached = "yes" if points >= least else "no"
    where = f"{len(pairs)} sets, {runs} runs"
    return f"| {system} | {rival} | {measure} | {asked} | {points:+.1f} ({where}) | {reached} |"


def searched(rows: Mapping[str, Row]) -> list[str]:
    """The search: a line for each candidate, a column for each set, clean and disturbed."""
    found = by_system(rows)
    names = list(dict.fromkeys(name for scored in found.values() for name, _ in scored))
    lines = ["", "| candidate | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for system in sorted(found):
        own = [{key: row for key, row in found[system].items() if key[0] == name} for name in names]
        cells = [f"{cell(one, 'clean')} / {cell(one, 'disturbed')}" if one else "" for one in own]
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    lines += ["", "| chosen | in place of | clean | disturbed | splits |", "|---|---|---:|---:|---:|"]
    return lines + [_between(found, *both) for both in CHOSEN if set(both) <= found.keys()]


def _between(found: Mapping[str, Mapping[tuple[str, int], Mapping[str, float]]], one: str, other: str) -> str:
    """Points that one candidate is ahead of another, in the mean over the splits that both were run on."""
    shared = found[one].keys() & found[other].keys()
    points = [mean(found[one][key][what] - found[other][key][what] for key in shared) for what in MEASURES[:2]]
    return f"| {one} | {other} | {points[0]:+.1f} | {points[1]:+.1f} | {len(shared)} |"


def page(held: Mapping[str, Mapping[str, Row]]) -> str:
    """The whole page."""
    found = by_system(held.get("report", {}))
    lines = [HEAD.format(faults="; ".join(DISTURBANCES)), "| system | " + " | ".join(MEASURES) + " | run on |"]
    lines.append("|---|" + "---:|" * len(MEASURES) + "---|")
    for system in SYSTEMS:
        own = found.get(system, {})
        sets = [name for name in REPORTED if any(one == name for one, _ in own)]
        count = len({seed for _, seed in own})
        where = f"{len(sets)} of {len(REPORTED)} sets ({', '.join(sets)}), {count} seed{'s' * (count != 1)}"
        shown = " | ".join(cell(own, measure) for measure in MEASURES)
        lines.append(f"| {system} | {shown} | {where if own else 'not run'} |")
    lines += [
        "",
        "Rows over different sets are not to be compared with each other. Goals, which were set beforehand, are",
        "compared run by run; the last table has each set by itself.",
        "",
        "| system | rival | measure | points ahead, at least | measured | reached |",
        "|---|---|---|---:|---:|---|",
        *(ahead(found, goal) for goal in GOALS),
        "",
    ]
    lines += ["| set | system | clean | disturbed |", "|---|---|---:|---:|"]
    for name in REPORTED:
        for system in SYSTEMS:
            own = {key: row for key, row in found.get(system, {}).items() if key[0] == name}
            if own:
                lines.append(f"| {name} | {system} | {cell(own, 'clean')} | {cell(own, 'disturbed')} |")
    lines += ["", "## How the default was chosen", ""]
    lines += [
        "On splits of the training parts of other sets than those above, never on their test parts; a small search",
        "with one seed and few series to measure on: clean / disturbed. Two thirds of a part are trained on and the",
        "rest is measured with; (20): 20 series are trained on. Of a candidate: the pair, its network, its companion;",
        "empty: not run.",
        *searched(held.get("search", {})),
    ]
    return "\n".join([*lines, ""])


def write(into: Path = PAGE) -> None:
    """The page, from the rows that are there."""
    replace(into, page(json.loads(read(ROWS))).encode())


if __name__ == "__main__":
    write()
