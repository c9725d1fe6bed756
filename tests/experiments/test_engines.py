"""Engines: workers do not outlive the process that they work for."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

WORKERS = """
import os, sys, time
from pathlib import Path
from noisyrnn.experiments.engines import Joblib

def work(place):
    Path(place).write_text(str(os.getpid()))
    time.sleep(300)

list(Joblib(workers=2)(work, sys.argv[1:]))
"""


def alive(pid: int) -> bool:
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(said.strip()) and not said.startswith("Z")


def eventually(happened, seconds: float = 120.0) -> bool:
    end = time.monotonic() + seconds
    while not happened() and time.monotonic() < end:
        time.sleep(0.1)
    return happened()


def test_workers_go_when_their_parent_is_killed(tmp_path: Path) -> None:
    places = [tmp_path / "first", tmp_path / "second"]
    parent = subprocess.Popen([sys.executable, "-c", WORKERS, *map(str, places)])
    try:
        assert eventually(lambda: all(place.exists() and place.read_text() for place in places))
    finally:
        parent.kill()
        parent.wait()
    pids = [int(place.read_text()) for place in places]
    assert eventually(lambda: not any(map(alive, pids)), seconds=60)
