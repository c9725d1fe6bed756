"""Files are replaced as a whole: a reader finds the earlier content or the later, whenever the writer dies."""

from __future__ import annotations

import os
from pathlib import Path


def replaced(path: Path, content: bytes) -> Path:
    """The path, with ``content`` in it: written beside, flushed to the disk, renamed; an OSError leaves what was there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     replaced(Path(directory, "new", "file"), b"whole").read_bytes()
    b'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path
