"""The cases of ``citizen_cases.py`` in a process without run-time checks of types, which torch could not compile."""

import subprocess
import sys
from pathlib import Path

import pytest

from noisyrnn.rnn import native

CASES = Path(__file__).with_name("citizen_cases.py")
OPTIONS = "-p no:cacheprovider -p no:logging -p no:jaxtyping --import-mode=importlib -p no:warnings"


@pytest.mark.skipif(not native.available(), reason=native.status())
def test_torch_compiles_exports_transforms_and_traces_the_fast_routes():
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", "-o", f"addopts={OPTIONS}", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CASES.parents[2])
    assert done.returncode == 0, done.stdout[-4000:]
    assert "failed" not in done.stdout
    assert "passed" in done.stdout
