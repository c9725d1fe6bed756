"""A file is replaced, or made once, as a whole or not at all; and what is read is bounded and validated."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from noisyrnn import disk
from noisyrnn.disk import DamagedFile, UnwritableFile, create, read, read_as, replace, save
from noisyrnn.setting import Setting


class Colour(Setting):
    hue: float


def read_colour(path: Path) -> Colour:
    return read_as(Colour, path, what="a colour", remedy="paint it again")


def full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_write_that_fails_leaves_the_earlier_content_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = replace(tmp_path / "file", b"earlier")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace(path, b"later")
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_the_content_is_on_the_disk_before_the_name_points_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    path = replace(tmp_path / "file", b"earlier")
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append(path.read_bytes()))
    replace(path, b"later")
    # First the file beside is flushed, and after the renaming its directory.
    assert seen == [b"earlier", b"later"]
    assert path.read_bytes() == b"later"


def test_a_disk_that_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "file", b"earlier")
    with pytest.raises(
        UnwritableFile, match=r"cannot be written \(.*\): free space or choose another directory; .*\.$"
    ):
        save(path / "below", b"")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableFile, match=r"^\S+file cannot be written \(No space left on device\): .*\.$"):
        save(path, b"later")
    assert path.read_bytes() == b"earlier"


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="not permitted"):
        create(tmp_path / "DONE", b"mine")
    assert not list(tmp_path.iterdir())


def test_of_eight_threads_one_creates_the_file(tmp_path: Path) -> None:
    path, contents = tmp_path / "DONE", [bytes([65 + place]) * 2**20 for place in range(8)]
    for _ in range(5):
        barrier = threading.Barrier(8)
        won: list[int] = []

        def work(place: int, barrier: threading.Barrier = barrier, won: list[int] = won) -> None:
            barrier.wait()
            if create(path, contents[place]):
                won.append(place)

        threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [winner] = won
        assert path.read_bytes() == contents[winner]
        assert list(tmp_path.iterdir()) == [path]
        path.unlink()


def test_of_eight_processes_one_creates_the_file(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from noisyrnn.disk import create\n"
        "place, start = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "print('ready', flush=True)\n"
        "while not start.exists(): time.sleep(0.001)\n"
        "print(create(place, sys.argv[3].encode() * 2**20))\n"
    )
    path, start = tmp_path / "made" / "DONE", tmp_path / "start"
    workers = [
        subprocess.Popen([sys.executable, "-c", program, path, start, letter], stdout=subprocess.PIPE, text=True)
        for letter in "ABCDEFGH"
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    start.touch()
    answers = [worker.communicate(timeout=60)[0].strip() for worker in workers]
    assert sorted(answers) == ["False"] * 7 + ["True"]
    assert path.read_bytes() == "ABCDEFGH"[answers.index("True")].encode() * 2**20
    assert list(path.parent.iterdir()) == [path]


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"theirs")
    link.symlink_to(target)
    assert not create(link, b"mine")
    replace(link, b"mine")
    assert (target.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"theirs", b"mine", False)


def test_a_small_file_is_read_as_a_value(tmp_path: Path) -> None:
    assert read_colour(replace(tmp_path / "colour.json", b'{"hue": 0.5}')) == Colour(hue=0.5)
    with pytest.raises(FileNotFoundError):
        read_colour(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[]", "object"),
        (b'{"hue": "red"}', "hue: input should be a valid number"),
        (b'{"hue": 0.5, "gloss": 1}', "gloss"),
        (b'{"hue": NaN}', "NaN|finite|expected"),
        (b'{"hue": 0.5, "a\\nb": 1}', "no setting 'a b': valid are hue"),
        (b"\xff\xfe\x00", "JSON"),
        (b'{"hue": "\xff"}', "unicode"),
        (b"[" * 100_000, "recursion"),
        (b'{"hue":' * 100_000, "recursion|number"),
        (b"", "EOF"),
    ],
    ids=["list", "word", "unknown", "nan", "newline", "bytes", "encoding", "brackets", "braces", "empty"],
)
def test_damage_is_one_sentence_that_names_the_file_and_the_remedy(tmp_path: Path, content: bytes, reason: str) -> None:
    path = replace(tmp_path / "colour.json", content)
    with pytest.raises(DamagedFile, match=rf"^\S*colour\.json is not a colour \(.*({reason}).*\): paint it again\.$"):
        read_colour(path)


def test_what_is_no_regular_file_is_one_sentence_and_nobody_waits(tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("directory", "link", "dangling", "pipe")}
    places["directory"].mkdir()
    places["link"].symlink_to(replace(tmp_path / "colour.json", b'{"hue": 0.5}'))
    places["dangling"].symlink_to(tmp_path / "none")
    os.mkfifo(places["pipe"])
    begin, opened = time.perf_counter(), len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for path in places.values():
        with pytest.raises(DamagedFile, match=rf"^\S*{path.name} (is|cannot) .*\.$"):
            read_colour(path)
    assert time.perf_counter() - begin < 5
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == opened, "every file that was opened is closed"


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "colour.json"
    with path.open("wb") as stream:
        stream.truncate(disk.SMALL + 1)
    with pytest.raises(DamagedFile, match=rf"^\S*colour\.json has {disk.SMALL + 1} bytes, and at most {disk.SMALL} "):
        read_colour(path)
    path.write_bytes(b"12345")
    assert read(path, most=5) == b"12345"
    with pytest.raises(DamagedFile, match="has 5 bytes, and at most 4 are read"):
        read(path, most=4)


def test_room_is_taken_for_what_a_file_holds_and_not_for_what_it_might(tmp_path: Path) -> None:
    path = replace(tmp_path / "small", b"a few bytes")
    assert read(path, most=2**62) == b"a few bytes"
