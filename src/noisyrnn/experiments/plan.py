"""The plan of a sweep: every run once, with all that experiments want measured on it; and what became of each.

A runner (``experiments.runner``) works through it; several may share the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field

from noisyrnn.experiments.spec import Experiment, Measurement, Run
from noisyrnn.rows import Description
from noisyrnn.setting import Setting


class Request(Setting):
    """A request for a cell: which experiment wants which measurement, under which protocol, of which of its models."""

    experiment: str
    model: str
    description: Description
    protocol: str
    overrides: dict[str, object] = Field(default={})
    measurement: Measurement

    @property
    def cell(self) -> tuple[str, str, str]:
        """What tells requests of one run apart."""
        return self.experiment, self.model, self.measurement.digest


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run and everything that is to be measured on it."""

    run: Run
    requests: tuple[Request, ...]

    @property
    def label(self) -> str:
        return self.requests[0].model

    def __str__(self) -> str:
        return f"{self.label}, seed {self.run.seed}"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a job: rows made now, seconds spent; or that another runner holds it, or why it failed."""

    label: str
    seed: int
    key: str
    rows: int = 0
    trained: bool = False
    seconds: float = 0.0
    busy: bool = False
    failure: str | None = None
    remark: str | None = None
    """What is to be said of a training that ended, but went nowhere."""
    trace: str = ""
    """Where in the code it failed, for those who look for the reason there."""

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
    def remarks(self) -> dict[str, str]:
        return {str(result): result.remark for result in self.results if result.remark is not None}

    @property
    def busy(self) -> list[str]:
        return [str(result) for result in self.results if result.busy]

    @property
    def complete(self) -> bool:
        return not self.failures and not self.busy


def jobs(experiments: Sequence[Experiment]) -> list[Job]:
    """Every run once, with the requests of all experiments that share it.

    >>> from noisyrnn.experiments import EXPERIMENTS
    >>> one, two = (len(jobs([EXPERIMENTS[name]])) for name in ("table-1", "table-2"))
    >>> len(jobs([EXPERIMENTS["table-1"], EXPERIMENTS["table-2"]])) == max(one, two)
    True
    """
    runs: dict[str, Run] = {}
    requests: dict[str, dict[tuple[str, str, str], Request]] = {}
    for experiment in experiments:
        for label, run in experiment.runs():
            runs.setdefault(run.key, run)
            wanted = requests.setdefault(run.key, {})
            for measurement in experiment.measurements:
                request = Request(
                    experiment=experiment.name,
                    model=label,
                    description=experiment.recipes[label].description,
                    protocol=experiment.protocol,
                    overrides=experiment.overrides,
                    measurement=measurement,
                )
                wanted.setdefault(request.cell, request)
    return [Job(run=run, requests=tuple(requests[key].values())) for key, run in runs.items()]
