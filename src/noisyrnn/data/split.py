"""What ``noisyrnn.data.load`` returns: x (batch, time, feature) and y of each part, and where from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from noisyrnn.data.errors import DataError
from noisyrnn.types import Lengths, Sequence


class Provenance(BaseModel):
    """A file, the sha256 of its uncompressed content, where it was found, whether the sum was known.

    >>> Provenance(file="t.csv", sha256="00", source="own file", verified=False).verified
    False
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    sha256: str
    source: str
    verified: bool


class Drawing(BaseModel):
    """How samples were divided: rule, seed, sizes, and the sha256 of the indices (int64, little endian).

    >>> Drawing(rule="as published", seed=None, sizes=(2, 0, 1), sha256="00").sizes
    (2, 0, 1)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    seed: int | None
    sizes: tuple[int, int, int]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Split:
    """Samples x with classes y; ``lengths`` where they differ, and then x is 0 after the end of a sample.

    >>> len(Split(x=torch.zeros(3, 5, 1), y=torch.tensor([0, 1, 0])))
    3
    """

    x: Sequence
    y: Tensor
    lengths: Lengths | None = None

    def __post_init__(self) -> None:
        if self.x.ndim != 3 or not self.x.is_floating_point():
            raise DataError(
                "x must be floating point of shape (batch, time, feature), "
                f"got {self.x.dtype} of shape {tuple(self.x.shape)}."
            )
        if self.y.dtype != torch.int64 or self.y.shape != self.x.shape[:1]:
            raise DataError(
                f"y must hold one int64 class for each of the {len(self.x)} samples, "
                f"got {self.y.dtype} of shape {tuple(self.y.shape)}."
            )
        # A finite sum has finite terms, and is found ten times as fast.
        if not (torch.isfinite(self.x.sum()) or torch.isfinite(self.x).all()):
            sample, time, feature = (~torch.isfinite(self.x)).nonzero()[0].tolist()
            raise DataError(
                f"x[{sample}, {time}, {feature}] is {float(self.x[sample, time, feature])}: "
                "fill or remove what is missing before loading."
            )
        if self.lengths is not None:
            wrong = (self.lengths < 1) | (self.lengths > self.x.shape[1])
            if self.lengths.shape != self.y.shape or bool(wrong.any()):
                raise DataError(f"lengths must give each sample 1 to {self.x.shape[1]} instants.")

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, kw_only=True)
class Splits:
    """Training, validation and test data of one task; where samples are divided without validation, that is empty."""

    train: Split
    validation: Split
    test: Split
    classes: tuple[str, ...]
    drawing: Drawing
    provenance: tuple[Provenance, ...]

    def __post_init__(self) -> None:
        for name in ("train", "validation", "test"):
            y = getattr(self, name).y
            if len(y) and not 0 <= int(y.min()) <= int(y.max()) < len(self.classes):
                raise DataError(f"Classes of the {name} split must be 0 to {len(self.classes) - 1}, got {y.unique()}.")
