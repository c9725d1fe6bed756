"""The tables of docs/classifier-table.md, from the rows of studies/archive_table.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev

from archive_sets import REPORTED, SEARCHED
from archive_table import DISTURBANCES, UNSEEN

from noisyrnn.disk import read, replace

HERE = Path(__file__).parent
ROWS, PAGE = HERE.parent / "studies/archive_table.json", HERE / "classifier-table.md"
Row = Mapping[str, float]
SYSTEMS = (
    "NoisyRNNClassifier",
    "NoisyRNNClassifier, causal",
    "LSTM in the recipe",
    "MiniRocket, FaultTrained",
    "MiniRocket",
    "1-NN DTW",
    "LSTM, plain",
    "NoisyRNNClassifier, other faults",
    "MiniRocket, other faults",
)
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
    seeds: dict[int, list[float]] = {}
    for (_, seed), row in own.items():
        if measure in row:
            seeds.setdefault(seed, []).append(row[measure])
    if not seeds:
        return ""
    sizes = {len(values) for values in seeds.values()}
    means = [mean(values) for values in seeds.values()]
    spread = f" ± {stdev(means):.1f}" if len(means) > 1 and len(sizes) == 1 else ""
    return f"{mean(means):.1f}{spread}"


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
        "Rows over different sets are not to be compared with each other: the next table has each set by itself.",
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
        f"On thirds of the training parts of {len(SEARCHED)} other sets ({', '.join(SEARCHED)}), never on their test",
        "parts; a small search, one seed. Sets that are missing in a line were not run.",
        "",
        "| candidate | clean | disturbed | run on |",
        "|---|---:|---:|---|",
    ]
    for system, own in by_system(held.get("search", {})).items():
        where = ", ".join(sorted({name for name, _ in own}))
        lines.append(f"| {system} | {cell(own, 'clean')} | {cell(own, 'disturbed')} | {where} |")
    return "\n".join([*lines, ""])


def write(into: Path = PAGE) -> None:
    """The page, from the rows that are there."""
    replace(into, page(json.loads(read(ROWS))).encode())


if __name__ == "__main__":
    write()
