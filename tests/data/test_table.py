"""One's own tables, divided and recorded."""

import hashlib

import pytest
import torch

from noisyrnn.data import DataError, Table, load

ROWS = [("sick" if i % 4 == 0 else "well", i, i + 0.5) for i in range(40)]


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("state,a,b\n" + "".join(f"{s},{a},{b}\n" for s, a, b in ROWS))
    return path


def test_a_table_is_divided_class_by_class_and_recorded(own):
    splits = load(Table(path=own, label="state", validation=0.1, test=0.3))
    assert splits.classes == ("sick", "well")
    assert splits.drawing.sizes == (24, 4, 12)
    for split in (splits.train, splits.validation, splits.test):
        assert float((split.y == 0).float().mean()) == 0.25
        assert torch.equal(split.y, (split.x[:, 0, 0] % 4 != 0).long())
    (record,) = splits.provenance
    assert record.file == "own.csv"
    assert record.sha256 == hashlib.sha256(own.read_bytes()).hexdigest()
    assert load(Table(path=own, label="state", split_seed=1)).drawing.sha256 != splits.drawing.sha256


def test_a_test_file_is_left_as_it_is(own, tmp_path):
    path = tmp_path / "later.csv"
    path.write_text("state,a,b,c\nwell,1,2,3\nunknown,4,5,\n")
    splits = load(Table(path=own, test_path=path, label="state", validation=0.25))
    assert splits.drawing.sizes == (30, 10, 2)
    assert splits.classes == ("sick", "unknown", "well")
    assert splits.test.y.tolist() == [2, 1]
    assert splits.test.x[..., 0].tolist() == [[1, 2, 3], [4, 5, 0]]
    assert splits.test.lengths.tolist() == [3, 2]
    assert splits.train.lengths.tolist() == [2] * 30


def test_wrong_tables_are_refused_in_one_sentence(own, tmp_path):
    with pytest.raises(DataError, match=r"absent\.csv cannot be read \(No such file or directory\)"):
        load(Table(path=tmp_path / "absent.csv"))
    with pytest.raises(DataError, match="which of the columns state, a, b is the label"):
        load(Table(path=own))
    short = tmp_path / "short.csv"
    short.write_text("a,1,2\nb,3,4\n")
    with pytest.raises(DataError, match="holds 2 series, too few to set 2 of them aside"):
        load(Table(path=short, validation=0.5, test=0.5))
    wide = tmp_path / "wide.ts"
    wide.write_text("@classLabel true a\n@data\n1,2:3,4:sick\n")
    with pytest.raises(DataError, match=r"wide\.ts has 2 features"):
        load(Table(path=own, test_path=wide, label="state"))
    bare = tmp_path / "bare.ts"
    bare.write_text("@classLabel false\n@data\n1,2\n")
    with pytest.raises(DataError, match=r"bare\.ts has no labels"):
        load(Table(path=bare))
