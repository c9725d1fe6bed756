"""Look-up, verification and the cache."""

import errno
import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from noisyrnn.data import DataError
from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.files import File, Name, Source, local, present, store, verify

CONTENT = b"twelve bytes"
NAME = Name(file="some.tsv", sha256=hashlib.sha256(CONTENT).hexdigest())
SOURCE = Source(title="Some", folders=("some", "SOME/raw"), names=(NAME,), offers=())


def put(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("place", ["some/some.tsv", "some/some.tsv.gz", "SOME/raw/some.tsv"])
def test_a_file_is_found_in_its_folders_plain_or_packed(empty, place):
    assert local(SOURCE) is None
    assert not present(SOURCE)
    put(empty / place, gzip.compress(CONTENT) if place.endswith(".gz") else CONTENT)
    found = local(SOURCE)
    assert found.content == CONTENT
    assert (found.provenance.source, found.provenance.verified) == ("cache", True)
    assert found.provenance.sha256 == NAME.sha256


def test_the_users_directory_comes_before_the_cache(empty, tmp_path, monkeypatch):
    put(empty / "some/some.tsv")
    monkeypatch.setenv("NOISYRNN_DATA", str(tmp_path))
    assert local(SOURCE).provenance.source == "cache"
    put(tmp_path / "some/some.tsv")
    assert local(SOURCE).provenance.source == "NOISYRNN_DATA"


@pytest.mark.parametrize(
    "damaged",
    [CONTENT[:-1], CONTENT[:-1] + b"S", b""],
    ids=["truncated", "altered", "emptied"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_file_of_the_user_is_reported_and_kept(empty, tmp_path, monkeypatch, damaged, packed):
    monkeypatch.setenv("NOISYRNN_DATA", str(tmp_path))
    put(empty / "some/some.tsv")  # a good copy in the cache is no excuse to pass over the user's
    name = "some.tsv.gz" if packed else "some.tsv"
    path = put(tmp_path / "some" / name, gzip.compress(damaged) if packed else damaged)
    kept = path.read_bytes()
    with pytest.raises(DataError, match=r"is truncated or altered .* replace it by a whole copy") as caught:
        local(SOURCE)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == kept


def test_a_cut_gzip_file_is_reported(empty):
    path = put(empty / "some/some.tsv.gz", gzip.compress(CONTENT)[:-9])
    with pytest.raises(DataError, match="is truncated or altered"):
        local(SOURCE)
    assert path.exists()


def test_a_sum_that_nobody_knows_is_recorded_as_such(empty):
    put(empty / "some/other.tsv", b"other")
    found = local(Source(title="Some", folders=("some",), names=(Name(file="other.tsv"),), offers=()))
    assert found.provenance.verified is False
    assert found.provenance.sha256 == hashlib.sha256(b"other").hexdigest()


def test_a_wrong_data_directory_is_named(empty, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISYRNN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"NOISYRNN_DATA names .*nowhere, which is not a directory"):
        local(SOURCE)


def file() -> File:
    return verify(CONTENT, NAME, where="test", source="test", remedy="none")


def test_storing_leaves_one_whole_file(empty):
    path = store(file(), SOURCE)
    assert path.read_bytes() == CONTENT
    assert [held.name for held in path.parent.iterdir()] == ["some.tsv"]


def test_a_full_disk_leaves_the_old_file_and_no_rest(empty, monkeypatch):
    path = put(empty / "some/some.tsv", b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\).*NOISYRNN_CACHE"):
        store(file(), SOURCE)
    assert [held.name for held in path.parent.iterdir()] == ["some.tsv"]
    assert path.read_bytes() == b"old"


def test_a_cache_that_cannot_be_made_is_named(empty):
    put(empty, b"a file where the directory should be")
    with pytest.raises(DataError, match="cannot be written"):
        store(file(), SOURCE)


def test_members_of_archives(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("inside/x", CONTENT)
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("inside/x")
        member.size = len(CONTENT)
        archive.addfile(member, io.BytesIO(CONTENT))
    for name in ("a.whl", "a.tgz"):
        assert read_uncompressed(tmp_path / name, "inside/x") == CONTENT
        with pytest.raises(DataError, match="has no member inside/y"):
            read_uncompressed(tmp_path / name, "inside/y")
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataError, match="truncated or altered"):
            read_uncompressed(tmp_path / name, "inside/x")
    with pytest.raises(DataError, match="cannot be read"):
        read_uncompressed(tmp_path / "absent.csv")
