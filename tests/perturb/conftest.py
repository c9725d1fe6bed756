"""The small module of signals, for all tests of perturbations."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
