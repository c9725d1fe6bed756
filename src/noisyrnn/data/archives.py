"""Content of plain and compressed files and of members of archives, read up to the limit and no further."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

from noisyrnn.data.errors import DataError
from noisyrnn.data.limit import read_within, refuse_beyond

Stream = io.BufferedReader | io.BytesIO

_DIRECTORY = 2**24  # bytes of a zip file's list of members: a quarter of a million names
_END, _END_SIZE, _LOCATOR = b"PK\5\6", 22, b"PK\6\7"


def read_uncompressed(path: Path, member: str | None = None) -> bytes:
    """Content of a file, of a .gz file, or of a member of a .zip, .whl or .tgz archive.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "own.csv.gz")
    ...     _ = path.write_bytes(gzip.compress(b"1,2"))
    ...     read_uncompressed(path)
    b'1,2'
    """
    try:
        with _opened(path) as stream:
            if member is not None and path.suffix in {".zip", ".whl"}:
                return _zipped(stream, member, path)
            if member is not None:
                return _tarred(stream, member, path)
            if path.suffix == ".gz":
                return unfolded(stream, str(path))
            refuse_beyond(os.fstat(stream.fileno()).st_size, f"{path} has")
            return read_within(stream, f"{path} has")
    except DataError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError) as error:
        raise DataError(f"{path} is truncated or altered ({error}): replace or remove it.") from error
    except KeyError as error:
        raise DataError(f"{path} has no member {member}: it is not the archive expected.") from error
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} cannot be read ({reason}): check the path and its permissions.") from error
    except (ValueError, RuntimeError, NotImplementedError, struct.error, OverflowError) as error:
        # Encrypted, packed by a method that Python does not have, or with numbers in its headers that make no sense.
        raise DataError(f"{path} cannot be unpacked ({error}): replace or remove it.") from error


def unfolded(stream: Stream, name: str) -> bytes:
    """Content of a gzip stream."""
    return read_within(gzip.GzipFile(fileobj=stream), f"{name} unfolds to")


def open_zip(stream: Stream) -> zipfile.ZipFile:
    """The archive, unless its list of members is longer than any honest one: Python reads the whole list at once."""
    stream.seek(0, os.SEEK_END)
    size = stream.tell()
    stream.seek(max(0, size - 2**16 - _END_SIZE - 20))
    tail = stream.read()
    at = len(tail) - _END_SIZE if tail[-_END_SIZE:].startswith(_END) else tail.rfind(_END)
    if at >= 0 and len(tail) >= at + _END_SIZE:
        (length,) = struct.unpack("<L", tail[at + 12 : at + 16])
        if length > _DIRECTORY or tail[max(0, at - 20) : at].startswith(_LOCATOR):
            raise zipfile.BadZipFile("its list of members is too long")
    stream.seek(0)
    return zipfile.ZipFile(stream)


def _opened(path: Path) -> Stream:
    """A regular file, opened: a pipe or a device would be waited for, or never end."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        kind = "a directory" if path.is_dir() else "no regular file"
        raise DataError(f"{path} is {kind}: name a file that holds data.")
    return os.fdopen(handle, "rb")


def _zipped(stream: Stream, member: str, path: Path) -> bytes:
    with open_zip(stream) as archive, archive.open(member) as inside:
        return read_within(inside, f"{member} in {path} unfolds to")


def _tarred(stream: Stream, member: str, path: Path) -> bytes:
    what = f"{path} unfolds to"
    # As a stream, read once from front to back, so that nothing is unfolded beyond what was counted.
    counted = io.BufferedReader(_Counted(stream, what))
    with tarfile.open(fileobj=counted, mode="r|") as archive:
        for one in archive:
            if one.name == member and (inside := archive.extractfile(one)) is not None:
                return read_within(inside, what)
            archive.members = []  # type: ignore[attr-defined]  # which tarfile would keep for a second reading
    raise KeyError(member)


class _Counted(io.RawIOBase):
    """A gzip stream that ends in a refusal once it has given more than the limit."""

    def __init__(self, stream: Stream, what: str) -> None:
        self.stream, self.what, self.given = gzip.GzipFile(fileobj=stream), what, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        block = self.stream.read(len(memoryview(buffer)))  # type: ignore[arg-type]
        self.given += len(block)
        refuse_beyond(self.given, self.what)
        memoryview(buffer)[: len(block)] = block  # type: ignore[arg-type]
        return len(block)
