"""Synthetic rows, shared with the tests of the report."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    spec = spec_from_file_location("synthetic", Path(__file__).parents[1] / "report" / "synthetic.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
