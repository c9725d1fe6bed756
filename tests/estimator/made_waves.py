"""Series made up for tests: slow and fast waves with random phases, in natural units."""

import numpy as np


def waves(samples=24, steps=30, seed=0, channels=1, mean=200.0, spread=30.0):
    """X (samples, channels, steps) and labels "slow" and "fast"."""
    rng = np.random.default_rng(seed)
    y = np.arange(samples) % 2
    t = np.linspace(0, 2 * np.pi, steps)
    x = np.sin((1 + 2 * y)[:, None, None] * t + rng.uniform(0, 6, (samples, channels, 1)))
    return mean + spread * (x + 0.05 * rng.normal(size=x.shape)), np.array(["slow", "fast"])[y]
