"""Two directories of runs that must be the same."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from noisyrnn.experiments import rows
from noisyrnn.experiments.store.run_directory import RunDirectory


def compare(directory: Path, undisturbed: Path) -> None:
    """Every row once and with the same value, every network the same bit by bit."""
    expected = {row.cell: row.value for row in rows(undisturbed)}
    assert {row.cell: row.value for row in rows(directory)} == expected
    for spec in undisturbed.glob("*/spec.json"):
        whole = RunDirectory(spec.parent)
        place = RunDirectory(directory / whole.key)
        lines = [line for path in place.path.glob("rows-*") for line in path.read_bytes().split(b"\n")[:-1]]
        assert len({json.dumps(json.loads(line)["measurement"]) for line in lines}) == len(lines), "a row stands twice"
        done, told = place.done(), whole.done()
        assert done is not None
        assert told is not None
        after, before = place.network(done), whole.network(told)
        assert after is not None
        assert before is not None
        assert all(torch.equal(after.network[name], before.network[name]) for name in before.network)
