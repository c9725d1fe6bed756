"""The small experiment and its processes, for all tests of experiments."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
