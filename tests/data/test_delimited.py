"""Tables by pyarrow and cell by cell: the same series, and the same sentence for what is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.data import Columns, DataError, Sequences, cells, delimited
from noisyrnn.data.formats import contents

ODDITIES = [
    "",
    "?",
    " 2 ",
    "+1",
    "1_0",
    "nan",
    "-inf",
    "1e400",
    "x",
    '"3"',
    '"',
    '5"',
    '"a\nb"',
    '"1,5"',
    '""',
    "\t",
    "é",
]
cell = st.one_of(st.floats(-1e6, 1e6).map(repr), st.integers(-9, 9).map(str), st.sampled_from(ODDITIES))


@contextlib.contextmanager
def blocks_of(characters: int) -> Iterator[None]:
    """Small blocks, so that a small text has several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_STRETCH", characters)
        patch.setattr(delimited, "_BLOCK", characters)
        patch.setattr(delimited, "_ROWS", 1)
        yield


@contextlib.contextmanager
def cell_by_cell() -> Iterator[None]:
    """Without pyarrow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited._Stretch, "_table", lambda self, *how: None)
        yield


def outcome(text: str, columns: Columns | None) -> str | tuple[object, ...]:
    try:
        found = contents(text.encode(), "own.csv", columns)
    except DataError as error:
        return str(error)
    return found.x.shape, found.x.tobytes(), None if found.lengths is None else tuple(found.lengths), found.labels


@given(
    rows=st.lists(st.lists(cell, min_size=3, max_size=4), min_size=1, max_size=12),
    header=st.sampled_from(["", "label,p,q\n", "\nid,p,q,r\n"]),
    columns=st.sampled_from(
        [None, Columns(label=-1), Columns(labelled=False, padded=True), Columns(labelled=False, case="id", time="q")]
    ),
    ending=st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
)
def test_both_ways_of_reading_agree(rows, header, columns, ending) -> None:
    text = header + ending.join(",".join(row) for row in rows)
    with cell_by_cell():
        expected = outcome(text, columns)
    assert outcome(text, columns) == expected
    with blocks_of(16):
        assert outcome(text, columns) == expected


def wide(rows: int, ragged: bool = False) -> list[list[str]]:
    numbers = np.random.default_rng(0).standard_normal((rows, 5)).round(3).tolist()
    return [[f"c{i % 3}", *map(str, row[: 2 + i % 4] if ragged else row)] for i, row in enumerate(numbers)]


def as_text(rows: list[list[str]]) -> bytes:
    return ("label,a,b,c,d,e\n" + "".join(",".join(row) + "\n" for row in rows)).encode()


def test_alike_rows_are_read_by_pyarrow_and_uneven_ones_are_not(monkeypatch) -> None:
    tables = []
    whole = delimited._Stretch._table

    def noted(self, *how):
        tables.append(whole(self, *how))
        return tables[-1]

    monkeypatch.setattr(delimited._Stretch, "_table", noted)
    found = contents(as_text(wide(50)), "own.csv")
    assert found.x.shape == (50, 5, 1)
    assert [table.num_rows for table in tables] == [50]
    tables.clear()
    ragged = contents(as_text(wide(50, ragged=True)), "own.csv")
    assert ragged.lengths.tolist() == [2 + i % 4 for i in range(50)]
    assert tables == [None]


@pytest.mark.parametrize("slip", [0, 17, 49])
def test_a_slip_in_any_block_is_named_with_line_and_column(slip: int) -> None:
    rows = wide(50)
    rows[slip][3] = "1,5".replace(",", "·")
    said = rf"own\.csv, line {slip + 2}, column 'c': '1·5' is not a number"
    for size in (64, 10**6):
        with blocks_of(size), pytest.raises(DataError, match=said):
            contents(as_text(rows), "own.csv")
    rows[slip][3] = ""
    with blocks_of(64), pytest.raises(DataError, match=rf"line {slip + 2}, column 'c': x\[{slip}, 2, 0\] is missing"):
        contents(as_text(rows), "own.csv")


def test_blocks_of_other_lengths_become_one_array() -> None:
    even, uneven = wide(20), wide(20, ragged=True)
    with blocks_of(64):
        found = contents(as_text(even + uneven), "own.csv")
    for index, row in enumerate(even + uneven):
        values = np.array(row[1:], dtype=np.float32)
        np.testing.assert_array_equal(found.x[index, : len(values), 0], values)
        assert found.lengths[index] == len(values)
        assert not found.x[index, len(values) :].any()


def long_text(cases: int, instants: int, seed: int) -> tuple[bytes, Sequences]:
    """Rows in any order, and what they say."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((cases, instants, 2)).round(3)
    lines = [f"k{c},{t},{x[c, t, 0]},{x[c, t, 1]},s{c % 2}" for c in range(cases) for t in range(instants)]
    first = [lines[c * instants] for c in range(cases)]  # cases come in the order of their first rows
    rest = sorted(set(lines) - set(first))
    generator.shuffle(rest)
    labels = tuple(f"s{c % 2}" for c in range(cases))
    expected = Sequences(x=x.astype(np.float32), lengths=None, labels=labels)
    return "\n".join(["id,time,p,q,state", *first, *rest]).encode(), expected


def test_an_instant_a_row_whatever_the_order_and_the_blocks() -> None:
    content, expected = long_text(9, 11, 0)
    columns = Columns(label="state", case="id", time="time")
    for size in (64, 10**6):
        with blocks_of(size):
            found = contents(content, "own.csv", columns)
        np.testing.assert_array_equal(found.x, expected.x)
        assert found.labels == expected.labels
        assert found.lengths is None


def test_one_case_has_one_label_also_across_blocks() -> None:
    content = long_text(9, 11, 0)[0] + b"\nk3,12,0,0,s0"
    with blocks_of(64), pytest.raises(DataError, match=r"line 101: case 'k3' is 's0' here, 's1' before"):
        contents(content, "own.csv", Columns(label="state", case="id", time="time"))


def test_more_columns_than_pyarrow_is_given_are_read_all_the_same(monkeypatch) -> None:
    monkeypatch.setattr(delimited, "_COLUMNS", 3)
    monkeypatch.setattr(delimited._Stretch, "_table", lambda self, *how: pytest.fail("given to pyarrow"))
    assert contents(as_text(wide(4)), "own.csv").x.shape == (4, 5, 1)


def test_a_row_longer_than_a_block_of_pyarrow_is_read() -> None:
    cells_in_row = 300_000  # 2 MB, twice the smallest block
    content = "a," + ",".join(["0.12345"] * cells_in_row) + "\nb," + ",".join(["-1"] * cells_in_row)
    short = "a," + ",".join(["0.12345"] * 100_000) + "\n" + ("b," + ",".join(["-1.5"] * 100_000) + "\n") * 3
    assert contents(content.encode(), "own.csv").x.shape == (2, cells_in_row, 1)
    assert contents(short.encode(), "own.csv").x.sum() == pytest.approx(100_000 * (0.12345 - 4.5), rel=1e-5)


def test_pyarrow_is_not_imported_before_a_table_is_read() -> None:
    import subprocess
    import sys

    code = "import sys, noisyrnn.data; print('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_numbers_side_by_side_keep_their_rows_across_chunks() -> None:
    library = cells.arrow()
    columns = [library.chunked_array([[1.0], [2.0, 3.0]]), library.chunked_array([[4, 5], [None]])]
    np.testing.assert_array_equal(cells.numbers_in(columns), [[1, 4], [2, 5], [3, np.nan]])
