"""The small module of transcriptions, for all tests of models."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
