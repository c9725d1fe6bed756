"""An empty machine: no data directory, a cache of one's own, and no way out but what a test opens."""

from pathlib import Path

import pytest


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a machine that has nothing and reaches nobody."""
    monkeypatch.delenv("NOISYRNN_DATA", raising=False)
    monkeypatch.setenv("NOISYRNN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
