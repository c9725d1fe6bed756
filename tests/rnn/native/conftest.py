"""Loops that define what the kernel computes, for all of its tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
