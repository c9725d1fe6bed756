"""The IDX format of MNIST: 00 00, a type, the number of axes, their sizes (32 bits, big endian), data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError

_UNSIGNED_BYTE = 8


def array(content: bytes, *, file: str) -> NDArray[np.uint8]:
    """The array of bytes in an IDX file.

    >>> array(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), file="labels").tolist()
    [7, 9]
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UNSIGNED_BYTE:
        raise DataError(f"{file} is not an IDX file of bytes: it must begin with 00 00 08.")
    axes = content[3]
    data = content[4 + 4 * axes :]
    shape = tuple(np.frombuffer(content[4 : 4 + 4 * axes], dtype=">u4").tolist())
    if len(shape) != axes or math.prod(shape) != len(data):
        raise DataError(f"{file} announces {shape} but holds {len(data)} numbers: replace it by a whole copy.")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)
