"""MNIST and its relatives: conventions, permutations and scales, on made-up images and on the real ones."""

import hashlib

import numpy as np
import pytest
import torch

from noisyrnn.data import (
    MNIST,
    DataError,
    FashionMNIST,
    Permutation,
    PermutedMNIST,
    Provenance,
    Reading,
    Scale,
    SplitConvention,
    idx,
    load,
)
from noisyrnn.data.files import File, present
from noisyrnn.data.images import order


def sha(indices: np.ndarray) -> str:
    return hashlib.sha256(indices.astype("<i8").tobytes()).hexdigest()[:16]


def made_up(name: str, array: np.ndarray) -> File:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    record = Provenance(file=name, sha256="", source="made up", verified=False)
    return File(name=name, content=header + array.tobytes(), provenance=record)


@pytest.fixture(scope="module")
def numbered() -> tuple[File, ...]:
    """70,000 images whose first pixels spell their number, and whose other pixels are 0..255 in turn."""
    images = np.tile(np.arange(784, dtype=np.uint32).astype(np.uint8), (70_000, 1))
    number = np.arange(70_000)
    images[:, 0], images[:, 1], images[:, 2] = number >> 16, (number >> 8) & 255, number & 255
    images = images.reshape(-1, 28, 28)
    labels = (number % 10).astype(np.uint8)
    return tuple(
        made_up(name, array)
        for name, array in (
            ("train-images", images[:60_000]),
            ("train-labels", labels[:60_000]),
            ("t10k-images", images[60_000:]),
            ("t10k-labels", labels[60_000:]),
        )
    )


def numbers(x: torch.Tensor) -> np.ndarray:
    return (x[:, :3, 0].round().long() * torch.tensor([1 << 16, 1 << 8, 1])).sum(1).numpy()


def test_the_authors_convention(numbered):
    splits = MNIST(scale=Scale.RAW).splits(numbered)
    drawn = np.random.RandomState(1234).permutation(60_000)
    assert numbers(splits.train.x).tolist() == drawn[:58_000].tolist()
    validation = numbers(splits.validation.x)
    assert validation[:8].tolist() == [22148, 49954, 19768, 35290, 22041, 57557, 9381, 28457]
    assert sha(validation) == "7997801537631326"
    assert numbers(splits.test.x).tolist() == list(range(60_000, 70_000))
    assert torch.equal(splits.validation.y, torch.from_numpy(validation % 10))
    assert splits.drawing.sizes == (58_000, 2_000, 10_000)


@pytest.mark.parametrize(
    ("convention", "sizes"), [(SplitConvention.CORNN, (57_000, 3_000)), (SplitConvention.EXPRNN, (60_000, 0))]
)
def test_the_other_conventions(numbered, convention, sizes):
    splits = MNIST(scale=Scale.RAW, convention=convention).splits(numbered)
    assert (len(splits.train), len(splits.validation)) == sizes
    both = np.concatenate([numbers(splits.train.x), numbers(splits.validation.x)])
    assert sorted(both.tolist()) == list(range(60_000))


@pytest.mark.parametrize(
    ("permutation", "begins", "digest"),
    [
        (
            Permutation.TORCH_12008,
            [91, 97, 471, 426, 157, 451, 312, 198, 117, 454, 357, 608],
            "f4113bc8ae789021",
        ),
        (
            Permutation.NUMPY_92916,
            [319, 576, 323, 107, 355, 716, 197, 20, 625, 60, 443, 620],
            "96240fe27409981c",
        ),
    ],
)
def test_permutations_are_those_of_the_authors(permutation, begins, digest):
    drawn = order(permutation)
    assert drawn[:12].tolist() == begins
    assert sha(drawn) == digest


def test_a_permuted_image_shows_pixel_order_t_at_instant_t(numbered):
    splits = PermutedMNIST(scale=Scale.RAW).splits(numbered)
    plain = MNIST(scale=Scale.RAW).splits(numbered)
    pixels = torch.from_numpy(order(Permutation.TORCH_12008))
    assert torch.equal(splits.test.x, plain.test.x[:, pixels])
    assert not torch.equal(splits.test.x, plain.test.x)


def test_scales_and_rows(numbered):
    unit, raw = MNIST().splits(numbered).test.x, MNIST(scale=Scale.RAW).splits(numbered).test.x
    assert (float(unit.min()), float(unit.max()), float(raw.max())) == (0.0, 1.0, 255.0)
    assert torch.equal(unit, raw / 255)
    rows = MNIST(reading=Reading.ROWS).splits(numbered).test.x
    assert torch.equal(rows.flatten(1), unit.flatten(1))
    assert rows.shape[1:] == (28, 28)


def test_another_permutation_of_a_later_version_is_noticed(monkeypatch):
    monkeypatch.setattr(torch, "randperm", lambda count, generator: torch.arange(count))
    with pytest.raises(DataError, match="draws another torch-12008"):
        order(Permutation.TORCH_12008)


@pytest.mark.parametrize("content", [b"", b"\0\0\x0d\1\0\0\0\2\0\0", bytes([0, 0, 8, 1, 0, 0, 0, 3, 1, 2])])
def test_what_is_not_idx_is_refused(content):
    with pytest.raises(DataError, match="labels"):
        idx.array(content, file="labels")


def here(setting) -> bool:
    return all(present(source) for source in setting.sources())


@pytest.mark.skipif(not here(MNIST()), reason="MNIST is not on this machine")
def test_the_real_images():
    splits = load(MNIST())
    both = torch.cat([splits.train.x, splits.validation.x])
    assert float(both.double().mean()) == pytest.approx(0.13066048, abs=1e-7)
    assert float(both.double().std()) == pytest.approx(0.30810780, abs=1e-7)
    assert splits.test.y[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert all(record.verified for record in splits.provenance)


@pytest.mark.skipif(not here(FashionMNIST()), reason="Fashion-MNIST is not on this machine")
def test_the_real_clothes():
    splits = load(FashionMNIST())
    assert splits.classes[int(splits.test.y[0])] == "ankle boot"


def test_published_permutations_and_validation_indices_are_reproducible_here():
    def digest(numbers):
        return hashlib.sha256(np.asarray(numbers, dtype="<i8").tobytes()).hexdigest()[:16]

    authors = torch.randperm(784, generator=torch.Generator().manual_seed(12008))
    assert authors[:4].tolist() == [91, 97, 471, 426]
    assert digest(authors) == "f4113bc8ae789021"
    assert digest(np.random.RandomState(92916).permutation(784)) == "96240fe27409981c"
    assert digest(np.random.RandomState(1234).permutation(60000)[58000:]) == "7997801537631326"
