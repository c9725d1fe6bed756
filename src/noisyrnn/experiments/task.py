"""Tasks: every run once, with all that experiments want measured on it; and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from noisyrnn.experiments.spec import Experiment, Measurement, Run


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A cell that an experiment wants filled: its label there, and what to measure."""

    experiment: str
    model: str
    protocol: str
    measurement: Measurement


@dataclass(frozen=True, kw_only=True)
class Task:
    """A run and everything that is to be measured on it."""

    run: Run
    wishes: tuple[Wish, ...]

    @property
    def label(self) -> str:
        return self.wishes[0].model


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a task: rows made now, seconds spent; or that another runner holds it, or why it failed."""

    label: str
    seed: int
    key: str
    rows: int = 0
    trained: bool = False
    seconds: float = 0.0
    busy: bool = False
    failure: str | None = None

    def __str__(self) -> str:
        return f"{self.label}, seed {self.seed}"


@dataclass(kw_only=True)
class Outcome:
    """What a runner did: complete when nothing failed and nobody else is at work.

    >>> Outcome(results=[Result(label="lstm", seed=0, key="", failure="too hot")]).failures
    {'lstm, seed 0': 'too hot'}
    """

    results: list[Result] = field(default_factory=list)

    @property
    def failures(self) -> dict[str, str]:
        return {str(result): result.failure for result in self.results if result.failure is not None}

    @property
    def busy(self) -> list[str]:
        return [str(result) for result in self.results if result.busy]

    @property
    def complete(self) -> bool:
        return not self.failures and not self.busy


def tasks(experiments: Sequence[Experiment]) -> list[Task]:
    """Every run once, with the wishes of all experiments that share it.

    >>> from noisyrnn.experiments import EXPERIMENTS
    >>> one, two = (len(tasks([EXPERIMENTS[name]])) for name in ("table-1", "table-2"))
    >>> len(tasks([EXPERIMENTS["table-1"], EXPERIMENTS["table-2"]])) == max(one, two)
    True
    """
    runs: dict[str, Run] = {}
    wishes: dict[str, list[Wish]] = {}
    for experiment in experiments:
        if not experiment.measurements:
            raise ValueError(f"{experiment.name} measures nothing; give it at least one measurement.")
        for label, run in experiment.runs():
            runs.setdefault(run.key, run)
            wishes.setdefault(run.key, []).extend(
                Wish(experiment=experiment.name, model=label, protocol=experiment.protocol, measurement=measurement)
                for measurement in experiment.measurements
            )
    return [Task(run=run, wishes=tuple(dict.fromkeys(wishes[key]))) for key, run in runs.items()]
