"""Experiments: every table and figure of the paper as a value, a runner that resumes, and rows.

>>> from noisyrnn.experiments import EXPERIMENTS
>>> EXPERIMENTS["table-3"].seeds
10
"""

from noisyrnn.experiments.bars import bars
from noisyrnn.experiments.beyond import ablation, rivals, rivals_search
from noisyrnn.experiments.demonstration import demonstration
from noisyrnn.experiments.engines import Engine, Joblib, Serial
from noisyrnn.experiments.paper import PUBLISHED, paper_experiments, published
from noisyrnn.experiments.reduced import override, reduced
from noisyrnn.experiments.rows import Row, rows
from noisyrnn.experiments.runner import Watch, run
from noisyrnn.experiments.search import baseline_search, noise_search, ranking
from noisyrnn.experiments.spec import PAPER, Experiment, Measurement, Part, Recipe, Run
from noisyrnn.experiments.task import Outcome, Result

_OWN = (
    ablation(),
    baseline_search(),
    demonstration(),
    noise_search("ecg"),
    noise_search("ordered-mnist"),
    rivals(),
    rivals_search(),
)
EXPERIMENTS: dict[str, Experiment] = {
    **paper_experiments(),
    **{experiment.name: experiment for experiment in _OWN},
}
"""All experiments by name: the paper's, then ours."""


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    >>> experiment("table-9")
    Traceback (most recent call last):
    ValueError: There is no experiment 'table-9'; choose one of ablation, baseline-search, ...
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; choose one of {', '.join(sorted(EXPERIMENTS))}.")
    return EXPERIMENTS[name]


__all__ = [
    "EXPERIMENTS",
    "PAPER",
    "PUBLISHED",
    "Engine",
    "Experiment",
    "Joblib",
    "Measurement",
    "Outcome",
    "Part",
    "Recipe",
    "Result",
    "Row",
    "Run",
    "Serial",
    "Watch",
    "ablation",
    "bars",
    "baseline_search",
    "experiment",
    "noise_search",
    "override",
    "paper_experiments",
    "published",
    "ranking",
    "reduced",
    "rivals",
    "rivals_search",
    "rows",
    "run",
]
