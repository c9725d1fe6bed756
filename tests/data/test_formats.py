"""Files of series: the same numbers from every format, and one clear sentence for what is wrong."""

import gzip

import numpy as np
import pytest

from noisyrnn.data import Columns, DataError, read
from noisyrnn.data.formats import contents

X = [[1.0, 2.5, -3.0], [4.0, 5.0, 6.0], [0.0, 0.5, 1e-3]]
LABELS = ("sick", "well", "sick")

LONG = Columns(case="id", time="t", labelled=False)

WIDE = {
    "csv": "label,t0,t1,t2\nsick,1,2.5,-3\nwell,4,5,6\nsick,0,0.5,1e-3\n",
    "semicolons.csv": "t0;t1;t2;class\n1;2.5;-3;sick\n4;5;6;well\n0;0.5;1e-3;sick\n",
    "numbered.csv": '"label","0","1","2"\n"sick",1,2.5,-3\n\n"well",4,5,6\n"sick",0,0.5,1e-3\n',
    "tsv": "sick\t1\t2.5\t-3\nwell\t4\t5\t6\nsick\t0\t0.5\t1e-3",
    "txt": "  sick   1  2.5 -3\n  well   4  5  6\n  sick   0  0.5 1e-3\n",
    "ts": "# a comment\n@problemName p\n@univariate true\n@classLabel true sick well\n@data\n"
    "1,2.5,-3:sick\n4,5,6:well\n0,0.5,1e-3:sick\n",
    "arff": "% a comment\n@relation p\n@attribute a0 numeric\n@attribute a1 numeric\n@ATTRIBUTE a2 REAL\n"
    "@attribute target {sick,well}\n\n@data\n1,2.5,-3,sick\n4,5,6,well\n0,0.5,1e-3,'sick'\n",
}


@pytest.mark.parametrize("name", WIDE)
def test_every_text_format_gives_the_same(name, tmp_path):
    path = tmp_path / f"own.{name}"
    path.write_text(WIDE[name], encoding="utf-8-sig" if name == "csv" else "utf-8")
    packed = tmp_path / f"own.{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, packed):
        found = read(file)
        np.testing.assert_array_equal(found.x[..., 0], np.array(X, dtype=np.float32))
        assert found.labels == LABELS
        assert found.lengths is None


def test_arrays(tmp_path):
    x = np.array(X)[..., None] * [1.0, 10.0]
    np.savez(tmp_path / "own.npz", X=x, y=np.array([1, 0, 1]))
    found = read(tmp_path / "own.npz")
    np.testing.assert_array_equal(found.x, x.astype(np.float32))
    assert found.labels == ("1", "0", "1")
    np.savez(tmp_path / "flat.npz", x=np.array(X), lengths=np.array([3, 1, 2]))
    flat = read(tmp_path / "flat.npz")
    assert flat.x[1, :, 0].tolist() == [4.0, 0.0, 0.0]
    assert flat.lengths.tolist() == [3, 1, 2]
    assert flat.labels is None


def test_parquet_columns_and_lists(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {f"t{i}": [row[i] for row in X] for i in range(3)}
    parquet.write_table(arrow.table({"label": LABELS, **columns}), tmp_path / "own.parquet")
    np.testing.assert_array_equal(read(tmp_path / "own.parquet").x[..., 0], np.array(X, dtype=np.float32))
    parquet.write_table(arrow.table({"label": ["a", "b"], "series": [[1.0, 2.0], [3.0]]}), tmp_path / "lists.parquet")
    found = read(tmp_path / "lists.parquet")
    assert found.x[..., 0].tolist() == [[1.0, 2.0], [3.0, 0.0]]
    assert found.lengths.tolist() == [2, 1]
    parquet.write_table(arrow.table({"label": ["a", "b"], "series": [[1.0, 2.0], [3.0, None]]}), tmp_path / "ends.pq")
    assert read(tmp_path / "ends.pq").lengths.tolist() == [2, 1]
    parquet.write_table(arrow.table({"label": ["a", "b"], "t0": [1, 2], "t1": ["3", "?!"]}), tmp_path / "slip.parquet")
    with pytest.raises(DataError, match=r"slip\.parquet, row 2, column 't1': '\?!' is not a number"):
        read(tmp_path / "slip.parquet")
    no_text = arrow.array([b"\x80", b"b"]).view(arrow.string())
    parquet.write_table(arrow.table({"label": no_text, "t0": [1.0, 2.0]}), tmp_path / "no_text.parquet")
    with pytest.raises(DataError, match=r"no_text\.parquet is not a whole Parquet file \('utf-8' codec"):
        read(tmp_path / "no_text.parquet")
    whole = (tmp_path / "own.parquet").read_bytes()
    with pytest.raises(DataError, match="not a whole Parquet file"):
        contents(whole[:-20], "own.parquet")


def test_parquet_without_pyarrow_names_the_remedy(monkeypatch):
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("noisyrnn.data.cells.import_module", absent)
    with pytest.raises(DataError, match="pip install pyarrow, or save the series as"):
        contents(b"", "own.parquet")


def test_several_channels_and_unequal_lengths_in_ts():
    header = "@univariate false\n@dimensions 2\n@equalLength false\n@classLabel true a b\n@data\n"
    text = header + "1,2,3:4,5,6:a\n7,8:9,10:b"
    found = contents(text.encode(), "own.ts")
    assert found.x.tolist() == [[[1, 4], [2, 5], [3, 6]], [[7, 9], [8, 10], [0, 0]]]
    assert found.lengths.tolist() == [3, 2]


def test_several_channels_in_arff():
    text = (
        "@relation m\n@attribute rel relational\n@attribute t0 numeric\n@attribute t1 numeric\n@end rel\n"
        "@attribute activity {a,b}\n@data\n'1,2\\n3,4',a\n\"5,6\\n7,8\",b\n"
    )
    found = contents(text.encode(), "own.arff")
    assert found.x.tolist() == [[[1, 3], [2, 4]], [[5, 7], [6, 8]]]
    assert found.labels == ("a", "b")


def test_an_instant_a_row_grouped_by_case_and_ordered_by_time():
    text = "id,time,p,q,state\nA,2,30,3,ok\nB,1,7,8,bad\nA,1,10,1,ok\nA,1.5,20,2,ok\n"
    columns = Columns(label="state", case="id", time="time")
    found = contents(text.encode(), "own.csv", columns)
    assert found.x.tolist() == [[[10, 1], [20, 2], [30, 3]], [[7, 8], [0, 0], [0, 0]]]
    assert found.lengths.tolist() == [3, 1]
    assert found.labels == ("ok", "bad")


def test_empty_cells_at_the_end_shorten_a_series_and_nan_only_on_request():
    assert contents(b"a,1,2,3\nb,4,,\n", "own.csv").lengths.tolist() == [3, 1]
    assert contents(b"a,1,2,3\nb,4,5\n", "own.csv").lengths.tolist() == [3, 2]
    with pytest.raises(DataError, match=r"x\[1, 1, 0\] is missing: set padded=True"):
        contents(b"1\t1\t2\t3\n2\t4\tNaN\tNaN\n", "own.tsv")
    padded = contents(b"1\t1\t2\t3\n2\t4\tNaN\tNaN\n", "own.tsv", Columns(padded=True))
    assert padded.lengths.tolist() == [3, 1]


def test_unlabelled_files():
    found = contents(b"t0,t1\n1,2\n3,4\n", "own.csv", Columns(labelled=False))
    assert found.x[..., 0].tolist() == [[1, 2], [3, 4]]
    assert found.labels is None


def test_a_class_may_be_called_like_a_label_column():
    found = contents(b"y,1,2\nn,3,4\ny,5,6\n", "own.csv")
    assert found.labels == ("y", "n", "y")


@pytest.mark.parametrize(
    ("content", "file", "columns", "said"),
    [
        (b"a,1,x,3\nb,1,2,3", "own.csv", None, r"own\.csv, line 1, column 2 \(from 0\): 'x' is not a number"),
        (b"a,1,2,3\nb,1,oops,3", "own.csv", None, r"own\.csv, line 2, column 2 \(from 0\): 'oops' is not a number"),
        (b"a,1,2,3\n\nb,1,oops,3", "own.csv", None, r"own\.csv, line 3, column 2 \(from 0\): 'oops'"),
        (
            b"a,1,2,3\nb,1,,3",
            "own.csv",
            None,
            r"own\.csv, line 2, column 2 \(from 0\): x\[1, 1, 0\] is missing: fill or remove it",
        ),
        (b"a,1,2,3\nb,1,inf,3", "own.csv", None, r"x\[1, 1, 0\] is infinite"),
        (b"a,1,2,3\nb,1,1e300,3", "own.csv", None, r"x\[1, 1, 0\] is infinite or too large"),
        (b"p,q,r\n1,2,3", "own.csv", None, "which of the columns p, q, r is the label"),
        (b"p,q,r\n1,2,3", "own.csv", Columns(label="state"), "has no column 'state': it has p, q, r"),
        (b"1,2,3\n1,2,3", "own.csv", Columns(label=7), "has no column 7"),
        (b"1,2,3\n,2,3", "own.csv", None, r"line 2: no label in column 0 \(from 0\): add it or remove the line"),
        (b"label,p,q\na,1,2\nb,3,oops", "own.csv", None, r"own\.csv, line 3, column 'q': 'oops' is not a number"),
        (b"p,q,r,label\n1,,2,a\n3,4,5,b", "own.csv", None, r"line 2, column 'q': x\[0, 1, 0\] is missing"),
        (b"id,t,p\nA,1,2\n\nA,2,no", "own.csv", LONG, r"own\.csv, line 4, column 'p': 'no' is not a number"),
        (b"id,t,p\nA,1,2\nA,,3", "own.csv", LONG, r"own\.csv, line 3, column 't': no finite time"),
        (b"id,t,p\nA,2,\nA,1,3", "own.csv", LONG, r"own\.csv, line 2, column 'p': x\[0, 1, 0\] is missing"),
        (b"id,t,p\nA,1,2\nA,2", "own.csv", LONG, r"own\.csv, line 3: 2 cells, but the header names 3"),
        (
            b"id,t,p\nA,1,2\nA,2,3,4",
            "own.csv",
            Columns(case="id", label=-1),
            r"own\.csv, line 3: 4 cells, but the header names 3",
        ),
        (b"", "own.csv", None, "holds no series"),
        (b"\xff\xfe1,2", "own.csv", None, "not text in UTF-8"),
        (b"1", "own.xlsx", None, r"the ending '\.xlsx' is not known"),
        (b"@classLabel true a\n@data\n1,2:3:a", "own.ts", None, r"line 3: channels of \[2, 1\] values"),
        (b"@classLabel true a\n1,2:a", "own.ts", None, "line 2: data before @data"),
        (b"@classLabel true a", "own.ts", None, "no @data line"),
        (b"@timeStamps true\n@data\n(0,1):a", "own.ts", None, "resample it to equal steps"),
        (b"@targetLabel true\n@data\n1,2:0.5", "own.ts", None, "regression problem"),
        (b"@classLabel true a\n@data\n1,?,2:a", "own.ts", None, r"x\[0, 1, 0\] is missing"),
        (
            b"@classLabel true a\n@data\n1,2:3,4:a\n1,2:a",
            "own.ts",
            None,
            r"mixes series of \[1, 2\] features",
        ),
        (b"@attribute a real\n1", "own.arff", None, "no @data line"),
        (b"@attribute a real\n@data\n1", "own.arff", Columns(label="b"), "has no attribute 'b'"),
        (b"not a zip", "own.npz", None, "not an .npz file of plain arrays"),
        (
            b"id,p,state\nA,1,ok\nA,2,bad\n",
            "own.csv",
            Columns(label="state", case="id"),
            "line 3: case 'A' is 'bad' here, 'ok' before",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(content, file, columns, said):
    with pytest.raises(DataError, match=said) as caught:
        contents(content, file, columns)
    assert "\n" not in str(caught.value)


def test_quotation_marks_astray_are_one_short_sentence():
    content = b'p,"q\n' + b"1,2\n" * 1000 + b'",r\n1,2,3'
    with pytest.raises(DataError, match="which of the columns p, q 1,2") as caught:
        contents(content, "own.csv")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


def test_pickled_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="plain arrays"):
        read(tmp_path / "own.npz")
