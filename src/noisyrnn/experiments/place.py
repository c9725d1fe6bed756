"""A run's directory: what lies in it, how it is found, and from which sister run it can take over.

OUT/<key>/spec.json                 the run
OUT/<key>/checkpoint.safetensors    its latest state
OUT/<key>/branch.safetensors        its state before its latest decay
OUT/<key>/DONE                      training is over: epochs, seconds, where, with which data
OUT/<key>/rows.jsonl                what was measured
OUT/<key>/portrait.json             what the theorems say of it, where that was asked
OUT/<key>/lease.json                who is at work, while somebody is
OUT/<key>/progress.json             how far that work is
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from noisyrnn.checkpoint import load, write_whole
from noisyrnn.experiments.spec import Run
from noisyrnn.train import continued

CHECKPOINT = "checkpoint.safetensors"
BRANCH = "branch.safetensors"
DONE = "DONE"
SPEC = "spec.json"


def home(run: Run, directory: Path) -> Path:
    """The run's directory: named by its key, or by the key that it had before settings gained new fields."""
    place = directory / run.key
    if not place.exists():
        for spec in sorted(directory.glob(f"*/{SPEC}")):
            if spec_in(spec.parent) == run:
                return spec.parent
    return place


def spec_in(place: Path) -> Run | None:
    """The run of a directory; None where there is none that this version understands."""
    try:
        return Run.model_validate_json((place / SPEC).read_bytes())
    except (OSError, ValidationError):
        return None


def summary_in(place: Path) -> dict[str, Any] | None:
    """What the directory's DONE says; None while training is not over."""
    path = place / DONE
    if not path.exists():
        return None
    try:
        return json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: remove it, and the run goes on from its checkpoint.") from error


def sweep(place: Path) -> None:
    """Nothing left of what a killed process was writing; for the holder of the lease."""
    for left in place.glob(".*.[0-9]*"):
        left.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """The value as indented JSON, by an atomic rename."""
    write_whole(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def inherit(run: Run, place: Path) -> None:
    """The furthest state of a sister run through which this run would pass too: they differ in later epochs only."""
    furthest, source = (0, 0), None
    for spec in sorted(place.parent.glob(f"*/{SPEC}")):
        other = None if spec.parent == place else spec_in(spec.parent)
        if other is None or (other.data, other.model, other.seed) != (run.data, run.model, run.seed):
            continue
        for path in (spec.with_name(CHECKPOINT), spec.with_name(BRANCH)):
            if path.exists():
                at = continued(load(path).record, run.train, run.seed)
                if at is not None and (at.epoch, at.batch) > furthest:
                    furthest, source = (at.epoch, at.batch), path
    if source is not None:
        write_whole(place / CHECKPOINT, source.read_bytes())


def machine() -> str:
    """Kind of processor and number of threads: what a bitwise repetition needs, and nothing that names a computer.

    >>> machine().endswith(("thread", "threads"))
    True
    """
    kind = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        kind = named[0] if named else kind
    threads = torch.get_num_threads()
    return f"{kind}, {threads} thread{'s' if threads > 1 else ''}"
