"""Loops that define what the kernel computes, for its tests; they run on every instruction set of the machine."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from noisyrnn.rnn import native


@pytest.fixture(autouse=True, params=native.instruction_sets() or ["none"])
def _instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    if not native.available():
        yield
        return
    with native.instructions(request.param):
        yield
