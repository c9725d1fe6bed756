"""Bounds: what a stranger's file or server can make us take, in memory or on the disk, ends at one stated limit."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from noisyrnn.data import Columns, DataError, read
from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.formats import contents
from noisyrnn.data.limit import VARIABLE, limit
from noisyrnn.data.setting import join

MEGABYTE = 2**20
BEYOND = r"more than 1 MB, which is the limit for one file: if you trust it, set NOISYRNN_DATA_LIMIT"


@pytest.fixture
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")


def zeros_of(dtype: str, shape: tuple[int, ...], data: bytes = b"") -> bytes:
    """An .npy file that announces a shape, whatever it holds."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


def zipped(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return held.getvalue()


@pytest.mark.parametrize("name", ["own.csv.gz", "own.ts.gz", "own.arff.gz", "labels-idx1-ubyte.gz"])
def test_a_compressed_file_unfolds_to_the_limit_and_no_further(name: str, tmp_path: Path, one_megabyte: None) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"0" * (MEGABYTE + 1)))
    with pytest.raises(DataError, match=f"unfolds to {BEYOND}") as caught:
        read_uncompressed(path)
    assert "\n" not in str(caught.value)
    path.write_bytes(gzip.compress(b"0" * MEGABYTE))
    assert len(read_uncompressed(path)) == MEGABYTE


def test_members_of_archives_unfold_to_the_limit(tmp_path: Path, one_megabyte: None) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(x=b"0" * (MEGABYTE + 1), y=b"small"))
    with pytest.raises(DataError, match=f"unfolds to {BEYOND}"):
        read_uncompressed(tmp_path / "a.zip", "x")
    assert read_uncompressed(tmp_path / "a.zip", "y") == b"small"
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for name, size in {"x": MEGABYTE + 1, "y": 5}.items():
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(b"0" * size))
    for name in ("x", "y"):  # y comes after what is too long to pass over
        with pytest.raises(DataError, match=f"unfolds to {BEYOND}"):
            read_uncompressed(tmp_path / "a.tgz", name)


def test_a_plain_file_is_refused_by_its_size(tmp_path: Path, one_megabyte: None) -> None:
    with (tmp_path / "own.csv").open("wb") as stream:
        stream.truncate(2**40)  # a hole: it takes no disk, and must take no memory
    with pytest.raises(DataError, match=f"has {BEYOND}"):
        read(tmp_path / "own.csv")


def test_what_never_ends_is_no_data(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.csv")
    for path in (tmp_path / "own.csv", Path("/dev/zero")):
        with pytest.raises(DataError, match="is no regular file: name a file that holds data"):
            read_uncompressed(path)
    with pytest.raises(DataError, match="is a directory: name a file"):
        read_uncompressed(tmp_path)


@pytest.mark.parametrize("shape", [(2**20, 1), (2**40, 2**40, 1), (10**30,)])
def test_an_array_is_refused_by_the_shape_that_it_announces(shape: tuple[int, ...], one_megabyte: None) -> None:
    with pytest.raises(DataError, match=rf"announces an array x\.npy that takes {BEYOND}"):
        contents(zipped(x__npy=zeros_of("<f4", shape)), "own.npz")


@pytest.mark.parametrize("dtype", ["|O", "<U0", "|V0"])
def test_arrays_of_other_things_than_numbers_are_refused(dtype: str) -> None:
    with pytest.raises(DataError, match=r"not an \.npz file of plain arrays"):
        contents(zipped(x__npy=zeros_of(dtype, (2, 2))), "own.npz")


def test_an_array_that_is_cut_off_is_refused() -> None:
    with pytest.raises(DataError, match=r"x\.npy is cut off"):
        contents(zipped(x__npy=zeros_of("<f8", (2, 2), bytes(31))), "own.npz")


def test_arrays_of_other_names_are_not_read(one_megabyte: None) -> None:
    held = io.BytesIO()
    np.save(held, np.ones((2, 3)))
    found = contents(zipped(X__npy=held.getvalue(), z__npy=zeros_of("|O", (10**9,))), "own.npz")
    assert found.x.shape == (2, 3, 1)


@pytest.mark.parametrize(
    ("content", "file"),
    [
        (b"0," * 2**18, "own.csv"),
        (b"0,1\n" * 2**14, "own.csv"),
        (b"0 1\n" * 2**14, "own.txt"),
        (b"@data\n" + b"0,1\n" * 2**14, "own.ts"),
        (b"@attribute a real\n@data\n" + b"0,1\n" * 2**14, "own.arff"),
    ],
)
def test_numbers_are_counted_as_they_come(content: bytes, file: str, one_megabyte: None) -> None:
    with pytest.raises(DataError, match=f"holds numbers that take {BEYOND}"):
        contents(content, file, Columns(labelled=False))


def test_a_line_without_end_is_refused_before_it_is_taken_apart() -> None:
    with pytest.raises(DataError, match=r"line 1 has more than 4194304 cells"):
        contents(b"," * (2**22 + 1), "own.csv")
    quoted = b'"\n",' * (2**22 + 1)  # one row over many lines
    with pytest.raises(DataError, match=r"has more than 4194304 cells|take more than"):
        contents(quoted, "own.csv")


def test_one_long_series_does_not_make_all_of_them_long(one_megabyte: None) -> None:
    content = b"0," + b"1," * 1000 + b"1\n" + b"0,1\n" * 1000
    with pytest.raises(DataError, match=rf"as long as the longest \(1001 instants\), takes {BEYOND}"):
        contents(content, "own.csv")
    short, long = (contents(b"0," + b"1," * n + b"1", "own.csv") for n in (1, 1000))
    with pytest.raises(DataError, match="as long as the longest"):
        join([long, *[short] * 1000])


def test_parquet_is_refused_by_what_it_announces(one_megabyte: None) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    held = io.BytesIO()
    table = arrow.table({"label": arrow.array(np.zeros(2**20)), "t": arrow.array(np.zeros(2**20))})
    parquet.write_table(table, held, compression="zstd")
    assert len(held.getvalue()) < MEGABYTE // 8
    with pytest.raises(DataError, match=BEYOND):
        contents(held.getvalue(), "own.parquet")


@pytest.mark.parametrize("told", ["much", "-1", "0", "1e3", "²", "9" * 400])
def test_a_wrong_limit_is_named(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, told)
    with pytest.raises(DataError, match="NOISYRNN_DATA_LIMIT must be a whole number of megabytes"):
        limit()


_BOMBS = """
import resource, sys
from pathlib import Path
from noisyrnn.data import DataError, read
for path in sys.argv[1:]:
    try:
        read(path)
    except DataError as error:
        print(str(error).count("limit for one file"))
status = Path("/proc/self/status")  # on Linux ru_maxrss counts what the process that started this one took
lines = status.read_text().splitlines() if status.exists() else []
most = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
print((most or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] // 1024)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sizes of processes are read as on Unix")
def test_bombs_of_two_megabytes_stay_below_two_gigabytes(tmp_path: Path) -> None:
    folded = gzip.compress(b"0," * 2**20, 9)
    (tmp_path / "a.csv.gz").write_bytes(folded * 2000)  # gzip files one after the other are one: 4 GB
    (tmp_path / "b.npz").write_bytes(zipped(x__npy=zeros_of("<f8", (300, 10**6), bytes(10**6))))
    done = subprocess.run(
        [sys.executable, "-c", _BOMBS, tmp_path / "a.csv.gz", tmp_path / "b.npz"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    *refused, megabytes = done.stdout.split()
    assert refused == ["1", "1"]
    assert int(megabytes) < 2048


@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF, 0xD800])
@pytest.mark.parametrize("order", ["<", ">"])
def test_labels_that_are_no_text_are_refused(code: int, order: str) -> None:
    held = io.BytesIO()
    np.save(held, np.ones((1, 2)))
    letter = code.to_bytes(4, "little" if order == "<" else "big")
    with pytest.raises(DataError, match="y holds what is no text"):
        contents(zipped(x__npy=held.getvalue(), y__npy=zeros_of(f"{order}U1", (1,), letter)), "own.npz")
