"""Rows for a trained run: measured once, and copied where another table asks for the same cell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

import torch

from noisyrnn.checkpoint import CheckpointError, network_of
from noisyrnn.data import DataSet, Split, Splits, load
from noisyrnn.evaluate import accuracy
from noisyrnn.experiments.plan import Job, Request
from noisyrnn.experiments.spec import Measurement, Part, Run, task_of
from noisyrnn.experiments.store.claim import Claim
from noisyrnn.experiments.store.run_directory import DONE, Done, RunDirectory
from noisyrnn.randomness import stream
from noisyrnn.rows import PAPER, Row
from noisyrnn.setting import canonical, own_settings


@lru_cache(maxsize=2)
def splits_of(data: DataSet) -> Splits:
    """The splits of a data set, kept for the next run."""
    return load(data)


def missing(job: Job, rows: list[Row]) -> list[Request]:
    """Requests for which there is no row under the protocol asked for, or under the paper's."""
    have: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        have.setdefault((row.experiment, row.model, row.measurement), []).append(row)

    def answered(request: Request) -> bool:
        asked = (request.protocol, request.overrides)
        return any((row.protocol, row.overrides) in (asked, (PAPER, {})) for row in have.get(request.cell, []))

    return [request for request in job.requests if not answered(request)]


def write_rows(job: Job, directory: RunDirectory, claim: Claim, before: Callable[[int, int], None]) -> int:
    """Number of rows added; ``before`` is called with how many are written and wanted, before each."""
    rows = directory.rows()
    requests = missing(job, rows)
    if not requests:
        return 0
    done, run = directory.done(), job.run
    # What another table has measured already is copied, also where the network itself was not kept; not what was
    # measured on another training of the same run, of which a record may have kept the rows alone.
    same = [row for row in rows if done is None or (row.version, row.contract) == (done.version, done.contract)]
    values = {row.measurement: row.value for row in same}
    new = any(request.measurement.digest not in values for request in requests)
    checkpoint = directory.network(done) if done and new else None
    if done is None or (new and checkpoint is None):
        raise CheckpointError(
            f"{directory.path} has no network, so nothing more can be measured: put it back, or remove "
            f"{directory.path / DONE} to train again."
        )
    network, splits = network_of(checkpoint) if checkpoint else None, splits_of(run.data)
    for number, request in enumerate(requests):
        before(number, len(requests))
        split, address = selection(splits, request.measurement), request.measurement.digest
        if network is not None and address not in values:
            values[address] = value(network, split, run, request.measurement)
        claim.append(_row(request, run, done, key=directory.key, value=values[address], samples=len(split)))
    return len(requests)


def _row(request: Request, run: Run, done: Done, *, key: str, value: float, samples: int) -> Row:
    measurement = request.measurement
    return Row(
        experiment=request.experiment,
        model=request.model,
        description=request.description,
        key=key,
        seed=run.seed,
        epochs=done.epochs,
        protocol=request.protocol,
        overrides=request.overrides,
        task=task_of(run.data),
        data=own_settings(run.data),
        part=measurement.part.value,
        measure=measurement.name,
        level=measurement.level,
        budget=measurement.budget,
        measurement=measurement.digest,
        value=value,
        samples=samples,
        verified=done.verified,
        contract=done.contract,
        version=done.version,
        host=done.host,
        seconds=round(done.seconds, 3),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def value(network: torch.nn.Module, split: Split, run: Run, measurement: Measurement) -> float:
    """Accuracy in percent; the draws depend on data, measurement and seed, not on the model."""
    generator = stream("measure", canonical(run.data), canonical(measurement), run.seed)
    return accuracy(network, split, measurement.measure, generator)


def selection(splits: Splits, measurement: Measurement) -> Split:
    """Samples of a measurement: all of its part, or a random choice that is the same for every model and seed."""
    split = splits.test if measurement.part is Part.TEST else splits.validation
    if len(split) == 0:
        raise ValueError(f"The {measurement.part.value} split of these data is empty; measure on another.")
    if measurement.samples is None or measurement.samples >= len(split):
        return split
    index = torch.randperm(len(split), generator=stream("samples", len(split)))[: measurement.samples]
    lengths = None if split.lengths is None else split.lengths[index]
    return Split(x=split.x[index], y=split.y[index], lengths=lengths)
