r"""What the theorems say of a trained network, beside how robust it was measured to be.

    R          Theorem 1 with noise xi in every unit and step: how much noise in its states would raise its loss
    exponent   Theorem 3: growth of a small difference of states along test data, per step, noise off
    certified  Theorem 2: median l2 radius within which the class is proved not to change
    attacked   median l2 radius at which an attack changes the class

The first three are about networks of one layer of an SDE cell; of other networks only the last is known. The same
supposed noise for every network makes R comparable: it is a property of the weights, however they were trained. It is
added as the released code adds it, because sqrt(dt) xi would depend on the steps that a network has learned, and does
not exist where it has learned a negative one.
A summary is kept beside its network, in the run's directory or in the record, so that a long series can be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from noisyrnn.checkpoint import network_of
from noisyrnn.evaluate import Clean
from noisyrnn.evaluate.margins import attacked_radius
from noisyrnn.experiments.measure import selection, splits_of
from noisyrnn.experiments.record.published import Record, run_of
from noisyrnn.experiments.record.summaries import THEORY, TheorySummary, keep_summary, summaries_in, summary_of
from noisyrnn.experiments.spec import Measurement, Run
from noisyrnn.experiments.store.run_directory import SPEC, RunDirectory
from noisyrnn.randomness import stream
from noisyrnn.rnn import Classifier
from noisyrnn.rows import Description, Row
from noisyrnn.sde import SDE, AdditiveNoise
from noisyrnn.theory import Network, Released, ball_certificate, lyapunov_spectrum, regulariser

_TOGETHER = 25  # samples in one call: the regulariser keeps a matrix of units x units for each


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A run of an experiment: its label, its accuracies in percent, and what the theorems say of it."""

    model: str
    description: Description
    seed: int
    epochs: int
    clean: float
    robust: float
    """Mean accuracy over every disturbed column of the experiment."""
    summary: TheorySummary


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A finished network with rows, wherever it lies; ``kept`` is its summary, if one was made before."""

    where: str
    key: str
    run: Run
    rows: tuple[Row, ...]
    network: Callable[[], Classifier]
    kept: TheorySummary | None
    keep: Callable[[TheorySummary], None]


def networks_with_rows(directory: Path | str, experiments: Sequence[str]) -> list[Trained]:
    """Finished networks of a record, or of runs below a directory, with rows of one of the experiments."""
    directory = Path(directory)
    if not directory.is_dir():
        raise ValueError(f"There is no directory {directory}: give a record, or one that experiments were run into.")
    record = Record(directory)
    every = _in_record(record) if record.exists else _below(directory)
    found = [replace(one, rows=told) for one in every if (told := _told(one.rows, experiments))]
    if not found:
        raise ValueError(
            f"No network with rows of {' or '.join(experiments)} is below {directory}: run it with noisyrnn run "
            f"{experiments[0]}, or name another experiment."
        )
    _refuse_half_measured(found)
    return found


def _below(directory: Path) -> Iterator[Trained]:
    for spec in sorted(directory.rglob(SPEC)):
        place = RunDirectory(spec.parent)
        done = place.done()
        checkpoint = place.network(done) if done else None
        if checkpoint is not None:
            yield Trained(
                where=str(place.path),
                key=place.key,
                run=place.spec(),
                rows=tuple(place.rows()),
                network=lambda checkpoint=checkpoint: network_of(checkpoint),  # type: ignore[misc]
                kept=summary_of(place),
                keep=lambda summary, place=place: place.write(THEORY, summary),  # type: ignore[misc]
            )


def _in_record(record: Record) -> Iterator[Trained]:
    rows: dict[str, list[Row]] = {}
    for row in record.rows():
        rows.setdefault(row.key, []).append(row)
    kept = summaries_in(record.path)
    for name in record.names():
        line = record.line(name)
        yield Trained(
            where=f"{record.path}: {name}",
            key=line.key,
            run=run_of(line),
            rows=tuple(rows.get(line.key, ())),
            network=lambda name=name: record.network(name),  # type: ignore[misc]
            kept=kept.get(line.key),
            keep=lambda summary: keep_summary(record.path, summary),
        )


def _refuse_half_measured(found: Sequence[Trained]) -> None:
    """Nothing, if runs of one experiment have the same columns: means over different ones must not be compared."""
    columns: dict[str, set[tuple[str, float]]] = {}
    for one in found:
        columns.setdefault(one.rows[0].experiment, set()).update(row.column for row in one.rows)
    for one in found:
        have, name = {row.column for row in one.rows}, one.rows[0].experiment
        if have != columns[name]:
            raise ValueError(
                f"{one.where} has {len(have)} of the {len(columns[name])} columns of {name} that other runs have: "
                f"finish it with noisyrnn run {name}, or move it away."
            )


def explain(one: Trained, *, samples: int = 100) -> Explained | None:
    """A network beside its measured robustness; None where clean or disturbed accuracies are missing."""
    disturbed = [row.value for row in one.rows if row.measure != "clean"]
    clean = [row.value for row in one.rows if row.measure == "clean"]
    if not disturbed or not clean:
        return None
    first = one.rows[0]
    return Explained(
        model=first.model,
        description=first.description,
        seed=first.seed,
        epochs=first.epochs,
        clean=clean[0],
        robust=sum(disturbed) / len(disturbed),
        summary=summary(one, samples=samples),
    )


def summary(one: Trained, *, samples: int = 100) -> TheorySummary:
    """What the theorems say of a network: kept from before, or computed and kept."""
    # Of another number of samples it is made again.
    if one.kept is not None and (one.kept.samples, one.kept.key) == (samples, one.key):
        return one.kept
    made = _summary(one.network(), one.run, one.key, samples)
    one.keep(made)
    return made


def _told(rows: Sequence[Row], experiments: Sequence[str]) -> tuple[Row, ...]:
    """The rows of the first of the experiments that has any."""
    choices = (tuple(row for row in rows if row.experiment == experiment) for experiment in experiments)
    return next((told for told in choices if told), ())


def _summary(model: Classifier, run: Run, key: str, samples: int) -> TheorySummary:
    split = selection(splits_of(run.data), Measurement(measure=Clean(), samples=samples))
    x, y = split.x, split.y
    generator = stream("portrait", key)
    attacked = [
        attacked_radius(model, a, b, generator=generator)
        for a, b in zip(x.split(_TOGETHER), y.split(_TOGETHER), strict=True)
    ]
    found: dict[str, float | None] = {"per_step_R": None, "exponent": None, "certified": None}
    try:
        network = Network.of_classifier(model)
    except ValueError:
        pass  # Not a network of the theorems.
    else:
        radius = ball_certificate(network, x, y, precision=torch.float32).radius
        found = {**_dynamics(model, x, y), "certified": float(radius.median())}
    return TheorySummary(key=key, samples=len(x), attacked=float(torch.cat(attacked).median()), **found)


@torch.no_grad()
def _dynamics(model: Classifier, x: Tensor, y: Tensor) -> dict[str, float | None]:
    network = Network.of_classifier(model.double())
    noisy = replace(network, diffusion=AdditiveNoise(1.0), released=Released(multiplicative=0.0))
    raised = [
        regulariser(noisy, a.double(), noisy.cross_entropy(b), Q=False).R
        for a, b in zip(x.split(_TOGETHER), y.split(_TOGETHER), strict=True)
    ]
    spectrum = lyapunov_spectrum(SDE(network.drift), x.double(), dt=network.dt, count=1)
    pace = 1.0 if spectrum.dt is None else spectrum.dt
    return {"per_step_R": float(torch.cat(raised).mean()), "exponent": spectrum.top * pace}
