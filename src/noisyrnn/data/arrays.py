"""NumPy's .npz: plain arrays, whose headers are looked at before anything is read or taken room for."""

from __future__ import annotations

import io
import math
import struct
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from noisyrnn.data.archives import open_zip
from noisyrnn.data.errors import DataError
from noisyrnn.data.grid import Columns
from noisyrnn.data.limit import Room, refuse_beyond
from noisyrnn.data.sequences import Sequences, stack

_NAMES = ("x", "y", "lengths")
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read(content: bytes, *, file: str, columns: Columns) -> Sequences:
    """Series of ``x`` (batch, time, feature) or (batch, time), with labels ``y`` and ``lengths`` if there are any."""
    held = _held(content, file)
    if "x" not in held:
        raise DataError(f"{file} has no array x: it has none that could be read.")
    x = held["x"]
    x = x[..., None] if x.ndim == 2 else x
    if x.ndim != 3 or x.dtype.kind not in "fiub":
        raise DataError(f"{file}: x must be numbers (batch, time, feature), got {x.dtype} {held['x'].shape}.")
    lengths = held.get("lengths", np.full(len(x), x.shape[1]))
    whole = lengths.shape == (len(x),) and lengths.dtype.kind in "iu"
    if not whole or (len(x) and not 1 <= lengths.min() <= lengths.max() <= x.shape[1]):
        raise DataError(f"{file}: lengths must give each of the {len(x)} series 1 to {x.shape[1]} instants.")
    y = held.get("y") if columns.labelled else None
    if y is not None and (y.shape != (len(x),) or y.dtype.kind not in "biufUS"):
        raise DataError(
            f"{file}: y must hold one class for each of the {len(x)} series, got {y.dtype} of shape {y.shape}."
        )
    room = Room(file)
    room.take(x.size, len(x))
    with np.errstate(over="ignore"):  # of longer floating-point numbers than ours; refused where they are stacked
        series = [one[:length].astype(np.float64) for one, length in zip(x, lengths.tolist(), strict=True)]
    labels = None if y is None else _labels(y, file)
    return stack(series, labels, file=file, padded=columns.padded, gaps=columns.gaps)


def _labels(y: NDArray[Any], file: str) -> list[str]:
    """The classes as text; what a damaged array holds need not be text at all."""
    if y.dtype.kind == "U":
        codes = y.view(np.dtype("u4").newbyteorder(y.dtype.byteorder))
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
            raise DataError(f"{file}: y holds what is no text: save it with np.savez.")
    return [str(label) for label in y.tolist()]


def _held(content: bytes, file: str) -> dict[str, NDArray[Any]]:
    """The arrays that are known by their names, in any case."""
    try:
        with open_zip(io.BytesIO(content)) as archive:
            names = {name.removesuffix(".npy").lower(): name for name in archive.namelist()}
            found = {name: _array(archive, names[name], file) for name in _NAMES if name in names}
    except DataError:
        raise
    except (
        ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, RuntimeError, OverflowError, MemoryError,
        RecursionError, struct.error, zlib.error, tokenize.TokenError, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{file} is not an .npz file of plain arrays ({reason}): save it with np.savez.") from error
    if "x" not in found and names:
        shown = ", ".join(sorted(names)[:8])
        raise DataError(f"{file} has no array x: it has {shown}.")
    return found


def _array(archive: zipfile.ZipFile, member: str, file: str) -> NDArray[Any]:
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError("not the format of an array of numbers")
        shape, column_major, dtype = _HEADERS[version](stream)
        # Objects would be unpickled, which runs what the file says.
        if dtype.hasobject or dtype.subdtype is not None or dtype.names is not None:
            raise ValueError(f"{member} holds {dtype}")
        count = math.prod(shape)
        refuse_beyond(max(8, dtype.itemsize) * count, f"{file} announces an array {member} that takes")
        data = stream.read(count * dtype.itemsize)
    if len(data) != count * dtype.itemsize or dtype.itemsize == 0:
        raise ValueError(f"{member} is cut off")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if column_major else "C")
