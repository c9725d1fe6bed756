"""The catalogue: one value for each table and figure, the paper's and ours, with all that is known of it.

>>> experiment("table-3").seeds
10
"""

from __future__ import annotations

import difflib
from pathlib import Path

from noisyrnn.disk import read_as
from noisyrnn.experiments.catalogue.cells import cells_search, noisy_cells
from noisyrnn.experiments.catalogue.certified import certified_tables
from noisyrnn.experiments.catalogue.certified_archive import certified_archive_sets
from noisyrnn.experiments.catalogue.demo import demonstration
from noisyrnn.experiments.catalogue.hardware import state_faults, state_faults_on_pixels
from noisyrnn.experiments.catalogue.leaders import leader, leader_search
from noisyrnn.experiments.catalogue.paper import ecg, ordered_mnist, permuted_mnist
from noisyrnn.experiments.catalogue.pixel_rivals import best_pixel_rivals, pixel_rivals_search
from noisyrnn.experiments.catalogue.rivals import ablation, best_rivals, rivals_search
from noisyrnn.experiments.catalogue.search import baseline_search, noise_search, ranking
from noisyrnn.experiments.spec import Experiment

_EVERY = (
    *ordered_mnist(),
    *ecg(),
    *permuted_mnist(),
    demonstration(),
    ablation(),
    best_rivals(),
    rivals_search(),
    leader(),
    leader_search(),
    pixel_rivals_search(),
    best_pixel_rivals(),
    baseline_search(),
    noise_search("ecg"),
    noise_search("ordered-mnist"),
    state_faults(),
    state_faults_on_pixels(),
    noisy_cells(),
    cells_search(),
    *certified_tables(),
    *certified_archive_sets(),
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _EVERY}
"""All experiments by name: the paper's, then ours."""


def experiment(name: str) -> Experiment:
    """The experiment of that name, or the one that a JSON file of that name holds.

    >>> experiment("table-33")
    Traceback (most recent call last):
    ValueError: There is no experiment 'table-33'; did you mean table-3? `noisyrnn list` shows all.
    """
    if name.endswith(".json"):
        remedy = "write it with Experiment.model_dump_json()"
        try:
            return read_as(Experiment, Path(name), what="an experiment that this version knows", remedy=remedy)
        except FileNotFoundError:
            raise ValueError(f"There is no file {name}; check the path.") from None
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"There is no experiment {name!r}; {hint}`noisyrnn list` shows all.")
    return EXPERIMENTS[name]


__all__ = [
    "EXPERIMENTS",
    "ablation",
    "baseline_search",
    "best_rivals",
    "demonstration",
    "experiment",
    "noise_search",
    "ranking",
    "rivals_search",
]
