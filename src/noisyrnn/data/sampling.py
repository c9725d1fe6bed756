"""Which sample goes where: seeded, recorded, and the same for ever.

NumPy's ``RandomState`` is used on purpose: its stream is frozen, that of the newer generators is not.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from noisyrnn.data.errors import DataError

Indices = NDArray[np.int64]


def fingerprint(*indices: Indices) -> str:
    """sha256 of the indices, one after the other, as 64-bit little-endian integers.

    >>> fingerprint(np.arange(3))[:16]
    'ab25350e3e65efeb'
    """
    digest = hashlib.sha256()
    for part in indices:
        digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    return digest.hexdigest()


def stratified(labels: NDArray[np.int64], sizes: tuple[int, ...], seed: int) -> tuple[Indices, ...]:
    """Disjoint random parts of the given sizes, each with every class in proportion (largest remainders).

    >>> parts = stratified(np.array([0] * 6 + [1] * 3), (6, 3), seed=0)
    >>> [np.bincount(np.array([0] * 6 + [1] * 3)[part]).tolist() for part in parts]
    [[4, 2], [2, 1]]
    """
    if min(sizes, default=0) < 0 or sum(sizes) > len(labels):
        raise DataError(f"Cannot draw parts of {sizes} from {len(labels)} samples: ask for no more than there are.")
    random = np.random.RandomState(seed)
    pools = [random.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    parts = []
    for size in sizes:
        left = np.array([len(pool) for pool in pools])
        quota = left * size / max(left.sum(), 1)
        counts = np.floor(quota).astype(np.int64)
        # Ties go to the class with the smaller number: a stable sort, so that no platform differs.
        for index in np.argsort(counts - quota, kind="stable")[: size - counts.sum()]:
            counts[index] += 1
        taken = [pool[:count] for pool, count in zip(pools, counts, strict=True)]
        pools = [pool[count:] for pool, count in zip(pools, counts, strict=True)]
        # Shuffled, or else a part would be sorted by class.
        parts.append(random.permutation(np.concatenate(taken)) if taken else np.empty(0, np.int64))
    return tuple(part.astype(np.int64) for part in parts)
