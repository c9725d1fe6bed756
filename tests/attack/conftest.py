"""A network, and the small module that makes it, for all tests of attacks."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from victims import Recurrent


@pytest.fixture
def network() -> Recurrent:
    return Recurrent().eval()
