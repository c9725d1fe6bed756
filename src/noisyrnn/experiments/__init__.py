"""Experiments: every table and figure of the paper as a value, a runner that resumes, and a record of results.

>>> from noisyrnn.experiments import EXPERIMENTS
>>> EXPERIMENTS["table-3"].seeds
10
"""

from pathlib import Path

from noisyrnn.about import About, Chapter, Printed, Statement
from noisyrnn.experiments.catalogue import EXPERIMENTS, experiment, ranking
from noisyrnn.experiments.engines import Engine, Joblib, Ray, Serial
from noisyrnn.experiments.plan import Outcome, Result
from noisyrnn.experiments.progress_bars import show_progress
from noisyrnn.experiments.record import Merged, Record, merge
from noisyrnn.experiments.reduction import override, reduced
from noisyrnn.experiments.runner import Watch, run
from noisyrnn.experiments.spec import Experiment, Measurement, Part, Recipe, Run
from noisyrnn.reading import read_results
from noisyrnn.rows import OURS, PAPER, Row


def rows(directory: Path | str) -> list[Row]:
    """All rows below a directory of runs, or of a record, each cell once.

    >>> rows("no/such/directory")
    Traceback (most recent call last):
    ValueError: There is no directory no/such/directory; name one that experiments were run into, or a record.
    """
    return list(read_results(directory).rows)


__all__ = [
    "EXPERIMENTS",
    "OURS",
    "PAPER",
    "About",
    "Chapter",
    "Engine",
    "Experiment",
    "Joblib",
    "Measurement",
    "Merged",
    "Outcome",
    "Part",
    "Printed",
    "Ray",
    "Recipe",
    "Record",
    "Result",
    "Row",
    "Run",
    "Serial",
    "Statement",
    "Watch",
    "experiment",
    "merge",
    "override",
    "ranking",
    "read_results",
    "reduced",
    "rows",
    "run",
    "show_progress",
]
