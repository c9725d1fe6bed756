"""Images as sequences: pixel by pixel or row by row, in [0, 1] or as stored, in order or permuted."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError
from noisyrnn.data.sampling import fingerprint


class Scale(StrEnum):
    """Brightness in [0, 1], or the whole numbers of the file (0..255 for MNIST, 0..16 for digits)."""

    UNIT = "unit"
    RAW = "raw"


class Reading(StrEnum):
    """One pixel at an instant, or one row of the image."""

    PIXELS = "pixels"
    ROWS = "rows"


class Permutation(StrEnum):
    """Fixed orders of the 784 pixels: that of the Noisy, Lipschitz and coRNN codes, and that of expRNN."""

    TORCH_12008 = "torch-12008"
    NUMPY_92916 = "numpy-92916"


_FINGERPRINTS = {Permutation.TORCH_12008: "f4113bc8ae789021", Permutation.NUMPY_92916: "96240fe27409981c"}


def order(permutation: Permutation) -> NDArray[np.int64]:
    """Instant t shows pixel order[t] of the image, counted row by row.

    >>> order(Permutation.TORCH_12008)[:4].tolist(), order(Permutation.NUMPY_92916)[:4].tolist()
    ([91, 97, 471, 426], [319, 576, 323, 107])
    """
    if permutation is Permutation.TORCH_12008:
        drawn = torch.randperm(784, generator=torch.Generator().manual_seed(12008)).numpy()
    else:
        drawn = np.random.RandomState(92916).permutation(784).astype(np.int64)
    if not fingerprint(drawn).startswith(_FINGERPRINTS[permutation]):
        raise DataError(f"This version of torch or NumPy draws another {permutation.value}: install a tested one.")
    return drawn


def sequence(images: NDArray[np.uint8], reading: Reading) -> NDArray[np.uint8]:
    """(batch, height x width, 1) or (batch, height, width).

    >>> sequence(np.zeros((2, 3, 4), np.uint8), Reading.PIXELS).shape
    (2, 12, 1)
    """
    return images if reading is Reading.ROWS else images.reshape(len(images), -1, 1)
