"""All data sets: load a setting, list what there is, fetch by name."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from noisyrnn.data.digits import Digits
from noisyrnn.data.errors import DataError
from noisyrnn.data.fetching import obtain
from noisyrnn.data.files import present
from noisyrnn.data.mnist import MNIST, FashionMNIST, PermutedMNIST
from noisyrnn.data.split import Provenance, Splits
from noisyrnn.data.table import Table
from noisyrnn.data.ucr import ECG5000, UCR, archive

DataSet = Annotated[Digits | MNIST | PermutedMNIST | FashionMNIST | ECG5000 | UCR | Table, Field(discriminator="kind")]
"""Any data set; in JSON the field ``kind`` tells which."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")

_Any = Digits | MNIST | PermutedMNIST | FashionMNIST | ECG5000 | UCR | Table


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the list: samples are training and test as published, length counts instants."""

    name: str
    kind: str
    samples: tuple[int, int]
    classes: int
    length: int
    present: bool


def load(setting: _Any, *, progress: bool | None = None) -> Splits:
    """Training, validation and test data of a setting, verified where sums are known, and fetched first if need be.

    >>> from noisyrnn.data import Digits
    >>> splits = load(Digits())
    >>> splits.drawing.sizes, splits.classes[:3]
    ((1200, 200, 397), ('0', '1', '2'))
    """
    return setting.splits(obtain(setting.sources(), progress=progress))


def named(name: str) -> _Any:
    """The setting of that name with its defaults; sets of the archive are called ucr:Name.

    >>> named("ecg5000-5").classes, named("ucr:GunPoint").name
    (5, 'GunPoint')
    """
    settings = _settings()
    if name in settings:
        return settings[name]
    spelt = {known.lower(): known for known in settings}
    near = [spelt[known] for known in difflib.get_close_matches(name.lower(), spelt, n=3)]
    of_archive = name.removeprefix("ucr:")
    # The archive has more sets than the list; but none that differs from a listed one in capitals alone.
    if of_archive == name or name.lower() in spelt or not _NAME.fullmatch(of_archive):
        raise DataError(f"There is no data set {name[:80]!r}: did you mean {', '.join(near or [*settings][:6])}?")
    return UCR(name=of_archive)


def available() -> tuple[Entry, ...]:
    """Every data set whose sums are known, and whether it lies on this machine.

    >>> available()[0]
    Entry(name='digits', kind='digits', samples=(1400, 397), classes=10, length=64, present=True)
    """
    sizes = {
        "digits": ((1400, 397), 10, 64),
        "ecg5000": ((500, 4500), 2, 140),
        "ecg5000-5": ((500, 4500), 5, 140),
    }
    entries = []
    for name, setting in _settings().items():
        if isinstance(setting, UCR):
            held = archive()[setting.name]
            samples, classes, length = (
                (held["samples"][0], held["samples"][1]),
                held["classes"],
                held["length"],
            )
        else:
            samples, classes, length = sizes.get(name, ((60_000, 10_000), 10, 784))
        here = all(present(source) for source in setting.sources())
        entries.append(
            Entry(name=name, kind=setting.kind, samples=samples, classes=classes, length=length, present=here)
        )
    return tuple(entries)


def fetch(name: str, *, progress: bool | None = None) -> tuple[Provenance, ...]:
    """Files of a data set, on this machine from now on; what each is, where it came from, whether its sum was known.

    >>> fetch("digits")
    ()
    """
    setting = named(name)
    try:
        return tuple(file.provenance for file in obtain(setting.sources(), progress=progress))
    except DataError as error:
        near = difflib.get_close_matches(name, _settings(), n=1) if name not in _settings() else []
        if not near:
            raise
        raise DataError(f"{error} Did you mean {near[0]}?") from error


def _settings() -> dict[str, _Any]:
    fixed: dict[str, _Any] = {
        "digits": Digits(),
        "mnist": MNIST(),
        "permuted-mnist": PermutedMNIST(),
        "fashion-mnist": FashionMNIST(),
        "ecg5000": ECG5000(),
        "ecg5000-5": ECG5000(classes=5),
    }
    others: dict[str, _Any] = {f"ucr:{name}": UCR(name=name) for name in archive() if name != "ECG5000"}
    return fixed | others
