"""Settings that hold for all tests."""

import signal

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
# A runner started in the background may have inherited an ignored Ctrl-C; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _same_start():
    """Every test starts from the same random state, whatever ran before it."""
    torch.manual_seed(0)
