"""Rows as version 0.1 wrote them, one JSON object per line with names in prose, read into fields.

What a name stood for is looked up: the recipe in the catalogue, the measurement in its experiment. Of an experiment
that the catalogue does not have, the run's own settings tell as much as they can.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from noisyrnn.disk import DamagedFile, read
from noisyrnn.experiments.spec import Part, Recipe, Run, task_of
from noisyrnn.experiments.store.run_directory import Done
from noisyrnn.rows import PAPER, Row
from noisyrnn.setting import own_settings, sentence


class OldRow(BaseModel):
    """A row of version 0.1."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    experiment: str
    key: str
    model: str
    seed: int
    measure: str
    level: float
    value: float
    samples: int
    epochs: int
    protocol: str
    data: str
    version: str
    seconds: float
    host: str
    created: str
    measurement: str


def rows_of_version_0_1(path: Path, run: Run, done: Done | None) -> list[Row]:
    """The rows of a file of version 0.1; a last line that a killed writer has torn is left out."""
    found = []
    lines = read(path, most=2**28).split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(_row(OldRow.model_validate_json(line), run, done))
        except ValidationError as error:
            if number == len(lines):
                break
            raise DamagedFile(
                f"{path}, line {number} is no row ({sentence(error).rstrip('.')}): repair that line, or remove it to "
                "measure again."
            ) from error
    return found


def _row(old: OldRow, run: Run, done: Done | None) -> Row:
    from noisyrnn.experiments.catalogue import EXPERIMENTS

    experiment = EXPERIMENTS.get(old.experiment)
    recipe = experiment.recipes.get(old.model) if experiment else None
    known = {measurement.digest: measurement for measurement in (experiment.measurements if experiment else ())}
    measurement = known.get(old.measurement)
    protocol, overrides = protocol_of_version_0_1(old.protocol)
    return Row(
        experiment=old.experiment,
        model=old.model,
        description=(recipe or Recipe(model=run.model, train=run.train)).description,
        key=old.key,
        seed=old.seed,
        epochs=old.epochs,
        protocol=protocol,
        overrides=overrides,
        task=task_of(run.data),
        data=own_settings(run.data),
        part=Part.VALIDATION if old.data.endswith(f" {Part.VALIDATION}") else Part.TEST,
        measure=old.measure,
        level=old.level,
        budget=measurement.budget if measurement else {},
        measurement=old.measurement,
        value=old.value,
        samples=old.samples,
        verified=done.verified if done else True,
        version=old.version,
        host=old.host,
        seconds=old.seconds,
        created=old.created,
    )


def protocol_of_version_0_1(words: str) -> tuple[str, dict[str, Any]]:
    """Protocol and overrides from the words that version 0.1 wrote.

    >>> protocol_of_version_0_1("reduced: epochs 30, seeds 1"), protocol_of_version_0_1("ours, seeds 2")
    (('paper', {'epochs': 30, 'seeds': 1}), ('ours', {'seeds': 2}))
    """
    protocol, _, clauses = words.partition(", ") if not words.startswith("reduced: ") else (PAPER, "", words[9:])
    overrides: dict[str, Any] = {}
    for clause in filter(None, clauses.split(", ")):
        name, _, value = clause.partition("=" if "=" in clause else " ")
        overrides[name] = int(value) if value.isdigit() else value
    return protocol, overrides
