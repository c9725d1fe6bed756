"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisyrnn.disk import replaced


def test_a_write_that_fails_leaves_the_earlier_content_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = replaced(tmp_path / "file", b"earlier")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replaced(path, b"later")
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_the_content_is_on_the_disk_before_the_name_points_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    path = replaced(tmp_path / "file", b"earlier")
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append(path.read_bytes()))
    replaced(path, b"later")
    assert seen == [b"earlier"]
    assert path.read_bytes() == b"later"
