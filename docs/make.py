"""Make what the documents show from recorded rows and studies: the pages on results and the pictures.

    python docs/make.py            (PYTHONPATH=studies) the pages on results, and the pictures of the README
    python docs/make.py --check    fail if a page on results is stale; write nothing

Run by `make docs`, which also remakes the page on theory. No study is run again: see studies/README.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import mean

from archive_tables import write as write_archive_tables
from certified_figure import figure as certified_figure
from faults import picture as faults_picture
from leaderboard import write as write_leaderboard
from leads import Leads
from picture import DEMONSTRATION, RESULTS, picture
from prose import wrapped
from quoted_rows import Recorded
from quoted_studies import STUDIES, study
from render import TEMPLATES, render

from noisyrnn.data.ucr import archive as published_sets
from noisyrnn.report import Results, read_results, tell

HERE = Path(__file__).parent
PAGES = HERE / "results"


def templates() -> list[str]:
    """The templates of the pages on results; one that begins with _ is a part of others."""
    found = sorted(path.name for path in (TEMPLATES / "results").glob("*.md.j2"))
    return [f"results/{name}" for name in found if not name.startswith("_")]


def values(read: Results) -> Mapping[str, object]:
    """What templates may call."""
    return {**Recorded(tell(read)).values(), "lead": partial(Leads, read.rows), "study": study, "wrapped": wrapped}


def certified_mean(
    read: Results, experiment: str, measure: str = "clean", rms: float = 0.0, *, model: str = "certified"
) -> str:
    """Mean accuracy of the certified network over its seeds; attacks are given by their RMS radius, too."""
    level = rms * 140**0.5 if measure == "apgd l2" else rms
    found = [
        row.value
        for row in read.rows
        if (row.experiment, row.model, row.measure) == (experiment, model, measure) and abs(row.level - level) < 1e-9
    ]
    if not found:
        raise LookupError(f"{experiment} has no rows for {measure} at {rms:g}.")
    return f"{mean(found):.1f}"


def _recorded_temperatures(read: Results) -> list[tuple[str, str]]:
    """Temperatures of the knob that were run, and their recipes."""
    prefix = "certified temperature "
    names = {row.model for row in read.rows if row.experiment == "certified-knob" and row.model.startswith(prefix)}
    return sorted(((name.removeprefix(prefix), name) for name in names), key=lambda pair: float(pair[0]))


def archive(read: Results) -> list[tuple[str, int, Callable[..., str]]]:
    """The archive sets that were run: name, training samples, and what gives their accuracies."""
    ran = {row.experiment: str(row.data["name"]) for row in read.rows if row.task.startswith("ucr-")}
    tables = sorted((name, table) for table, name in ran.items() if not table.endswith("-search"))
    known = published_sets()
    return [(name, known[name]["samples"][0], partial(certified_mean, read, table)) for name, table in tables]


def soundness() -> dict[str, float] | None:
    """All attacks on certificates together: counts, and how near the nearest came; None before the study ended."""
    path = STUDIES / "certified_soundness.json"
    found = json.loads(path.read_text()) if path.exists() else {"found": {}}
    parts = list(found["found"].values())
    total = {name: sum(part[name] for part in parts) for name in ("pairs", "certified", "attacked", "violations")}
    if total["pairs"] < 2000:
        return None
    return {**total, "least": min(part["least ratio"] for part in parts if part["least ratio"] is not None)}


def results(into: Path, *, check: bool = False) -> None:
    """Every page on results in the directory ``into``, and their picture; or, to check, nothing if all are current."""
    read = read_results(HERE.parent / "results")
    offered = values(read)
    for template in templates():
        render(template, into / Path(template).stem, offered, check=check)
    ecg = partial(certified_mean, read, "certified-ecg")
    digits = partial(certified_mean, read, "certified-digits")
    path = STUDIES / "certified_beside.json"
    beside = json.loads(path.read_text()) if path.exists() else None
    more = {**offered, "ecg": ecg, "digits": digits, "knob": partial(certified_mean, read, "certified-knob")}
    more |= {"beside": beside, "temperatures": _recorded_temperatures(read)}
    more |= {"mnist": partial(certified_mean, read, "certified-mnist"), "sound": soundness(), "sets": archive(read)}
    seconds = [row.seconds for row in read.rows if row.task.startswith("ucr-") and row.model == "certified"]
    more |= {"least_seconds": f"{min(seconds, default=0):.0f}", "most_seconds": f"{max(seconds, default=0):.0f}"}
    render("certified.md.j2", into.parent / "certified.md", more, check=check)
    if not check:
        certified_figure(read.rows, into.parent / "certified.svg")
        picture(read.rows, RESULTS, into / "picture.svg")
        picture(read.rows, DEMONSTRATION, into.parent / "demo.svg")
        faults_picture(into.parent / "faults.svg")
        write_leaderboard(into.parent / "leaderboard.md")
        write_archive_tables(into.parent / "classifier-table.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the pages on results, and write nothing")
    given = parser.parse_args()
    results(PAGES, check=given.check)


if __name__ == "__main__":
    main()
