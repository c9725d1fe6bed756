"""Settings, names and the list of what there is."""

import pytest
import torch
from pydantic import TypeAdapter

from noisyrnn.data import (
    ECG5000,
    MNIST,
    UCR,
    DataError,
    DataSet,
    Digits,
    FashionMNIST,
    Permutation,
    PermutedMNIST,
    Pool,
    Reading,
    Scale,
    Split,
    SplitConvention,
    Splits,
    Table,
    available,
    fetch,
    load,
    named,
)
from noisyrnn.data.download import Unreachable
from noisyrnn.setting import InvalidSetting

SETTINGS = [
    Digits(scale=Scale.RAW, reading=Reading.ROWS, split_seed=3),
    MNIST(convention=SplitConvention.EXPRNN),
    PermutedMNIST(scale=Scale.RAW, permutation=Permutation.NUMPY_92916),
    FashionMNIST(reading=Reading.ROWS),
    ECG5000(classes=5, pool=Pool.ARCHIVE, split_seed=9),
    UCR(name="Coffee", validation=0.1),
    Table(path="own.csv", label=-1, case="id"),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.kind)
def test_json_round_trip(setting):
    adapter = TypeAdapter(DataSet)
    assert adapter.validate_json(adapter.dump_json(setting)) == setting


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ECG5000(classes=3),
        lambda: MNIST(sclae=Scale.RAW),
        lambda: MNIST(scale="grey"),
        lambda: UCR(name="../secret"),
        lambda: Table(path="own.csv", test=1.0),
        lambda: Digits(split_seed=-1),
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InvalidSetting):
        wrong()


def test_digits_need_no_download_and_never_change(empty):
    splits = load(Digits())
    assert splits.drawing.sha256.startswith("aacbcc6dfc2962a3")
    assert (float(splits.train.x.min()), float(splits.train.x.max())) == (0.0, 1.0)
    raw = load(Digits(scale=Scale.RAW, reading=Reading.ROWS))
    assert torch.equal(raw.train.x.flatten(1) / 16, splits.train.x.flatten(1))
    assert int(torch.bincount(splits.test.y).min()) >= 38
    assert not empty.exists()


def test_the_list_tells_what_lies_here(empty):
    listed = {entry.name: entry for entry in available()}
    assert [name for name, entry in listed.items() if entry.present] == ["digits"]
    folder = empty / "ecg5000"
    folder.mkdir(parents=True)
    for part in ("TRAIN", "TEST"):
        (folder / f"ECG5000_{part}.tsv").write_bytes(b"")
    assert [entry.name for entry in available() if entry.present] == ["digits", "ecg5000", "ecg5000-5"]
    assert listed["ucr:Coffee"].samples == (28, 28)
    assert listed["permuted-mnist"].length == 784


def test_every_listed_name_is_a_setting(empty):
    for entry in available():
        assert named(entry.name).kind == entry.kind


def test_a_misspelt_name_gets_a_hint(empty):
    with pytest.raises(DataError, match="no data set 'ecg500': did you mean ecg5000"):
        fetch("ecg500")


def split(y: list[int]) -> Split:
    return Split(x=torch.zeros(len(y), 4, 1), y=torch.tensor(y, dtype=torch.int64))


def test_splits_refuse_what_networks_cannot_use(empty):
    x = torch.zeros(2, 4, 1)
    x[1, 2, 0] = torch.nan
    with pytest.raises(DataError, match=r"x\[1, 2, 0\] is nan"):
        Split(x=x, y=torch.tensor([0, 1]))
    with pytest.raises(DataError, match="lengths must give each sample 1 to 4"):
        Split(x=torch.zeros(2, 4, 1), y=torch.tensor([0, 1]), lengths=torch.tensor([5, 1]))
    with pytest.raises(DataError, match="y must hold one int64 class for each of the 2 samples"):
        Split(x=torch.zeros(2, 4, 1), y=torch.tensor([0, 1, 2]))
    whole = load(Digits())
    with pytest.raises(DataError, match="Classes of the test split must be 0 to 1"):
        Splits(
            train=split([0, 1]),
            validation=split([]),
            test=split([2]),
            classes=("a", "b"),
            drawing=whole.drawing,
            provenance=(),
        )


def test_large_but_finite_numbers_are_kept():
    x = torch.full((2, 4, 1), 3e38)  # their sum is infinite, they are not
    assert torch.equal(Split(x=x, y=torch.tensor([0, 1])).x, x)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("ucr:ecg200", "ucr:ECG200"), ("UCR:COFFEE", "ucr:Coffee"), ("Digits", "digits"), ("ucr:Cof fee", "ucr:Coffee")],
)
def test_a_name_with_a_slip_is_answered_with_the_right_one(asked, meant):
    with pytest.raises(DataError, match=rf"There is no data set '{asked}': did you mean {meant}"):
        named(asked)


def test_a_set_beyond_the_list_is_asked_for_and_named_like_its_neighbour_when_nobody_has_it(empty, monkeypatch):
    def unreachable(url, target, *, advance):
        raise Unreachable(f"{url} cannot be reached.")

    monkeypatch.setattr("noisyrnn.data.fetching.download", unreachable)
    with pytest.raises(DataError, match=r"ECG201 is not on this machine .* Did you mean ucr:ECG200\?"):
        fetch("ucr:ECG201")
