"""The small module of known classifiers, for all tests of audits."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
