"""Settings that hold for all tests."""

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
