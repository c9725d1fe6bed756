"""A lease saves double work: it ends with its process, or after a silence that somebody has watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noisyrnn.experiments.store import lease as room
from noisyrnn.experiments.store.lease import MARKER, LeaseLost, hold_lease

HOLDER = """
import os, sys, time
from pathlib import Path
from noisyrnn.experiments.store.lease import hold_lease
with hold_lease(Path(sys.argv[1])) as lease:
    print(lease is not None, flush=True)
    time.sleep(600)
"""


class Holder:
    """Another process that holds the lease of a directory."""

    def __init__(self, directory: Path, seconds: float) -> None:
        environment = {**os.environ, "NOISYRNN_LEASE_SECONDS": str(seconds)}
        command = [sys.executable, "-c", HOLDER, str(directory)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == "True"

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(room, "DURATION", 1.0)
    return 1.0


def test_it_is_given_back(tmp_path: Path) -> None:
    with hold_lease(tmp_path) as mine:
        assert mine is not None
        mine.check()
        with hold_lease(tmp_path) as theirs:
            assert theirs is None
    assert not (tmp_path / MARKER).exists()


def test_that_of_a_dead_process_is_free_at_once(tmp_path: Path, short: float) -> None:
    holder = Holder(tmp_path, short)
    with hold_lease(tmp_path) as lease:
        assert lease is None
    holder.end()
    with hold_lease(tmp_path) as lease:
        assert lease is not None


def test_a_holder_that_lives_keeps_it_however_long_one_watches(tmp_path: Path, short: float) -> None:
    holder = Holder(tmp_path, short)
    try:
        with hold_lease(tmp_path, watch=True) as lease:
            assert lease is None
    finally:
        holder.end()


def test_a_suspended_holder_loses_it_to_one_who_watches_and_learns_so(tmp_path: Path, short: float) -> None:
    holder = Holder(tmp_path, short)
    try:
        holder.process.send_signal(signal.SIGSTOP)
        with hold_lease(tmp_path) as at_once:
            assert at_once is None
        with hold_lease(tmp_path, watch=True) as lease:
            assert lease is not None
            holder.process.send_signal(signal.SIGCONT)
            time.sleep(3 * short)
            lease.check()  # ours still, although the other woke up
    finally:
        holder.end()


def test_whoever_was_taken_over_is_told(tmp_path: Path, short: float) -> None:
    with hold_lease(tmp_path) as lease:
        assert lease is not None
        (tmp_path / MARKER).unlink()
        (tmp_path / MARKER).write_text("somebody else's")
        time.sleep(2 * short)
        with pytest.raises(LeaseLost, match="was taken over by another runner, because this one gave no sign of life"):
            lease.check()


def test_damaged_markers_do_not_end_in_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "DURATION", 0.2)
    for content in (b"[1]", b"", b"\xff\xfe", b"[" * 100_000, b'{"pid": 1e400}', b"999999999999999999999\nhost\n"):
        (tmp_path / MARKER).write_bytes(content)
        os.utime(tmp_path / MARKER, (time.time() - 1000,) * 2)
        with hold_lease(tmp_path, watch=True) as lease:
            assert lease is None or lease.directory == tmp_path
        (tmp_path / MARKER).unlink(missing_ok=True)


def test_other_times_of_others_are_one_sentence(tmp_path: Path, short: float) -> None:
    holder = Holder(tmp_path, short + 1)
    try:
        with pytest.raises(ValueError, match="set NOISYRNN_LEASE_SECONDS alike"), hold_lease(tmp_path):
            pass
    finally:
        holder.end()


def test_a_marker_of_somebody_who_died_before_writing_its_name_blocks_nobody(tmp_path: Path, short: float) -> None:
    (tmp_path / MARKER).touch()
    with hold_lease(tmp_path) as lease:
        assert lease is None  # perhaps its name is about to be written
    with hold_lease(tmp_path, watch=True) as lease:
        assert lease is not None
    assert not (tmp_path / MARKER).exists()
