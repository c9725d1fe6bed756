"""Rows for a trained run: measured once, and copied where another table asks for the same cell."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import torch

from noisyrnn.checkpoint import CheckpointError, load_network
from noisyrnn.data import DataSet, Split, Splits, load
from noisyrnn.evaluate import accuracy, stream
from noisyrnn.experiments.place import CHECKPOINT, DONE, summary_in
from noisyrnn.experiments.rows import ROWS, Row, append, read
from noisyrnn.experiments.spec import PAPER, Measurement, Part, Run, canonical, data_name
from noisyrnn.experiments.task import Task, Wish


@lru_cache(maxsize=2)
def loaded(data: DataSet) -> Splits:
    """The splits of a data set, kept for the next run."""
    return load(data)


def missing(task: Task, place: Path) -> list[Wish]:
    """Wishes for which no row is there under the protocol asked for, or under the paper's."""
    have = {(row["experiment"], row["model"], row["measurement"], row["protocol"]) for row in read(place / ROWS)}
    return [
        wish
        for wish in task.wishes
        if not any(
            (wish.experiment, wish.model, digest(wish.measurement), protocol) in have
            for protocol in (wish.protocol, PAPER)
        )
    ]


def measure(task: Task, place: Path, check: Callable[[], None]) -> int:
    """Number of rows added; ``check`` is called before each."""
    wishes = missing(task, place)
    if not wishes:
        return 0
    path, summary = place / CHECKPOINT, summary_in(place)
    values = {row["measurement"]: row["value"] for row in read(place / ROWS)}
    # What another table has measured already is copied, also where the network itself was not kept.
    new = any(digest(wish.measurement) not in values for wish in wishes)
    if summary is None or (new and not path.exists()):
        raise CheckpointError(
            f"{place} has no {CHECKPOINT}, so nothing more can be measured: put it back, or remove {place / DONE} to "
            "train again."
        )
    network, splits, run = load_network(path) if new else None, loaded(task.run.data), task.run
    for wish in wishes:
        check()
        split, address = chosen(splits, wish.measurement), digest(wish.measurement)
        if network is not None and address not in values:
            values[address] = value(network, split, run, wish.measurement)
        row: Row = {
            "experiment": wish.experiment,
            "key": place.name,
            "model": wish.model,
            "seed": run.seed,
            "measure": wish.measurement.name,
            "level": wish.measurement.level,
            "value": values[address],
            "samples": len(split),
            "epochs": summary["epochs"],
            "protocol": wish.protocol,
            "data": data_name(run.data, wish.measurement.part),
            "version": summary["version"],
            "seconds": round(summary["seconds"], 3),
            "host": summary["host"],
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "measurement": address,
        }
        append(place / ROWS, [row])
    return len(wishes)


def digest(measurement: Measurement) -> str:
    """Twelve hexadecimal digits that tell measurements apart which differ in more than name and level."""
    return hashlib.sha256(canonical(measurement).encode()).hexdigest()[:12]


def value(network: torch.nn.Module, split: Split, run: Run, measurement: Measurement) -> float:
    """Accuracy in percent; the draws depend on data, measurement and seed, not on the model."""
    generator = stream("measure", canonical(run.data), canonical(measurement), run.seed)
    return accuracy(network, split, measurement.measure, generator)


def chosen(splits: Splits, measurement: Measurement) -> Split:
    """Samples of a measurement: all of its part, or a random choice that is the same for every model and seed."""
    split = splits.test if measurement.part is Part.TEST else splits.validation
    if len(split) == 0:
        raise ValueError(f"The {measurement.part.value} split of these data is empty; measure on another.")
    if measurement.samples is None or measurement.samples >= len(split):
        return split
    index = torch.randperm(len(split), generator=stream("samples", len(split)))[: measurement.samples]
    lengths = None if split.lengths is None else split.lengths[index]
    return Split(x=split.x[index], y=split.y[index], lengths=lengths)
