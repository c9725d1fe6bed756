"""Digits: 1797 handwritten digits of 8 x 8 pixels from scikit-learn, read pixel by pixel; no download.

(Alpaydin, Kaynak, "Optical recognition of handwritten digits", UCI, 1998.)
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from noisyrnn.data.errors import DataError
from noisyrnn.data.files import File, Source
from noisyrnn.data.images import Reading, Scale, sequence
from noisyrnn.data.sampling import stratified
from noisyrnn.data.setting import DataSetting, divide
from noisyrnn.data.split import Provenance, Splits

SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
"""Of the pixels as bytes, one image after the other."""

_SIZES = (1200, 200, 397)
_BRIGHTEST = 16.0


class Digits(DataSetting):
    """1200 training, 200 validation and 397 test sequences of 64 pixels in [0, 1] (``scale`` RAW: 0..16).

    >>> from noisyrnn.data import load
    >>> tuple(load(Digits()).train.x.shape)
    (1200, 64, 1)
    """

    kind: Literal["digits"] = "digits"
    scale: Scale = Scale.UNIT
    reading: Reading = Reading.PIXELS
    split_seed: int = Field(default=0, ge=0, lt=2**32)

    @override
    def sources(self) -> tuple[Source, ...]:
        return ()

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        from sklearn.datasets import load_digits  # slow to import, and only needed here

        held = load_digits()
        images = held.images.astype(np.uint8)
        digest = hashlib.sha256(images.tobytes()).hexdigest()
        if digest != SHA256:
            raise DataError(f"scikit-learn {version('scikit-learn')} brings other digits: install a tested version.")
        y = held.target.astype(np.int64)
        train, validation, test = stratified(y, _SIZES, self.split_seed)
        source = f"scikit-learn {version('scikit-learn')}"
        return divide(
            sequence(images, self.reading),
            y,
            (train, validation, test),
            classes=[str(digit) for digit in range(10)],
            rule="stratified",
            seed=self.split_seed,
            provenance=[Provenance(file="digits", sha256=digest, source=source, verified=True)],
            divisor=1.0 if self.scale is Scale.RAW else _BRIGHTEST,
        )
