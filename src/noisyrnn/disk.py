"""Files are replaced as a whole: a reader finds the earlier content or the later, whenever the writer dies.

Small files are read by one mechanism: bounded in size, validated by a pydantic model, and whatever is wrong with one is
said in one sentence that names the file and the remedy.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from noisyrnn.setting import sentence

SMALL = 16 * 2**20
"""Bytes: no small file of ours comes near, and reading that many at once harms nobody."""

_Model = TypeVar("_Model", bound=BaseModel)


class UnwritableFile(ValueError):
    """A file cannot be written; what was there before is intact."""


class DamagedFile(ValueError):
    """A file is not what its name says; the message names it, and what to do."""


def replace(path: Path, content: bytes) -> Path:
    """The path, with ``content`` in it: written beside, flushed to the disk, renamed; an OSError leaves what was there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     replace(Path(directory, "new", "file"), b"whole").read_bytes()
    b'whole'
    """
    beside = write_beside(path, content)
    try:
        beside.replace(path)
        flush_directory(path.parent)
    finally:
        beside.unlink(missing_ok=True)
    return path


def create(path: Path, content: bytes) -> bool:
    """Whether ``path`` was made with ``content``: once, whole, by the first who tries; a later one changes nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "DONE")
    ...     create(path, b"mine"), create(path, b"yours"), path.read_bytes()
    (True, False, b'mine')
    """
    beside = write_beside(path, content)
    try:
        os.link(beside, path)
        flush_directory(path.parent)
    except FileExistsError:
        return False
    finally:
        beside.unlink(missing_ok=True)
    return True


def write_beside(path: Path, content: bytes) -> Path:
    """A new file beside ``path``, flushed, with a name that nobody can foresee or share and no link can stand for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(beside, flags, 0o666), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def flush_directory(directory: Path) -> None:
    """A rename is on the disk when its directory is; where directories cannot be opened, the system has to do."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network disks refuse
    finally:
        os.close(handle)


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """What the disk refuses meanwhile is said in one sentence."""
    try:
        yield
    except TimeoutError:
        raise  # of a lock, whose holder is another matter
    except OSError as error:
        raise UnwritableFile(
            f"{path} cannot be written ({error.strerror or error}): free space or choose another directory; "
            "what was written before is intact."
        ) from error


def save(path: Path, content: bytes) -> Path:
    """``replace``, with a sentence where the disk refuses."""
    with writing(path):
        return replace(Path(path), content)


def check_directory(directory: Path) -> None:
    """Nothing, if files can be written into ``directory`` or it can be made: to be asked before the work, not after it.

    >>> check_directory(Path("/dev/null/below"))
    Traceback (most recent call last):
    noisyrnn.disk.UnwritableFile: /dev/null/below cannot be made, because /dev/null is no directory: ...
    """
    place = next(one for one in (directory, *directory.absolute().parents) if one.exists() or one.is_symlink())
    if not place.is_dir():
        raise UnwritableFile(f"{directory} cannot be made, because {place} is no directory: choose another place.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UnwritableFile(f"{place} cannot be written: choose another place.")


def check_file(path: Path) -> None:
    """Nothing, if ``path`` can be written as a file."""
    if path.is_dir():
        raise UnwritableFile(f"{path} is a directory: name a file.")
    check_directory(path.parent)


def read(path: Path, *, most: int = SMALL) -> bytes:
    """The bytes of a regular file of at most ``most`` bytes; a link is not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        if path.is_symlink():
            raise DamagedFile(f"{path} is a link, which is not followed here: put the file itself there.") from error
        raise DamagedFile(f"{path} cannot be read ({error.strerror or error}): check its permissions.") from error
    # The kind is asked before a stream is made: Python makes none of a directory, and would leave the handle open.
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise DamagedFile(f"{path} is not a regular file: move it away.")
    with os.fdopen(handle, "rb") as stream:
        if about.st_size > most:
            raise DamagedFile(f"{path} has {about.st_size} bytes, and at most {most} are read: move it away.")
        return stream.read(about.st_size + 1)  # not ``most``: room is taken for as much as is asked for


def read_as(model: type[_Model], path: Path, *, what: str, remedy: str) -> _Model:
    """The file as a value; of any damage (size, encoding, nesting, types) one sentence: file, ``what``, ``remedy``.

    >>> import tempfile
    >>> from noisyrnn.setting import Setting
    >>> class Colour(Setting):
    ...     hue: float
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = replace(Path(directory, "colour.json"), b"[]")
    ...     read_as(Colour, path, what="a colour", remedy="paint it again")
    Traceback (most recent call last):
    noisyrnn.disk.DamagedFile: ...colour.json is not a colour (Input should be an object): paint it again.
    """
    try:
        return model.model_validate_json(read(path))
    except ValidationError as error:
        raise DamagedFile(f"{path} is not {what} ({sentence(error, model).rstrip('.')}): {remedy}.") from error
