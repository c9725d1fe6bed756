"""Engines: how the jobs of a sweep are worked through. Any engine goes on in any directory."""

from noisyrnn.experiments.engines.cluster import Ray
from noisyrnn.experiments.engines.processes import Joblib
from noisyrnn.experiments.engines.protocol import Engine, Lost
from noisyrnn.experiments.engines.serial import Serial

__all__ = ["Engine", "Joblib", "Lost", "Ray", "Serial"]
