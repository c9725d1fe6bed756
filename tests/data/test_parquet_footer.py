"""What a Parquet file announces is read without the help of C++, which a stranger's footer can end."""

from __future__ import annotations

import io
import subprocess
import sys

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from noisyrnn.data.parquet_footer import Announced, announced


def written(columns: dict[str, list[object]], **how: object) -> bytes:
    held = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), held, **how)
    return held.getvalue()


LISTS = {"label": ["a", "b", "a"], "series": [[1.0, 2.0], [3.0], []], "deep": [[[1]], [[2, 3], []], [[4]]]}


@pytest.mark.parametrize("how", [{}, {"row_group_size": 1}, {"write_page_index": True}, {"compression": "zstd"}])
def test_values_are_those_that_pyarrow_finds(how: dict[str, object]) -> None:
    content = written(LISTS, **how)
    about = parquet.ParquetFile(io.BytesIO(content)).metadata
    chunks = [about.row_group(g).column(c) for g in range(about.num_row_groups) for c in range(about.num_columns)]
    values, unfolded = (sum(getattr(c, name) for c in chunks) for name in ("num_values", "total_uncompressed_size"))
    assert announced(content) == Announced(values, unfolded)


@given(st.binary(max_size=200))
def test_any_footer_is_read_or_refused(footer: bytes) -> None:
    said = ""
    try:
        announced(footer + len(footer).to_bytes(4, "little") + b"PAR1")
    except ValueError as error:
        said = str(error)
    assert len(said.splitlines()) < 2


def test_lists_without_an_end_are_refused() -> None:
    footer = b"\x49" + b"\x19" * 100_000
    with pytest.raises(ValueError, match="too deeply"):
        announced(footer + len(footer).to_bytes(4, "little") + b"PAR1")


ALTERED = """
import io, pyarrow
from pyarrow import parquet
from noisyrnn.data import Columns, DataError
from noisyrnn.data.formats import contents

held = io.BytesIO()
parquet.write_table(pyarrow.table({"label": ["a", "b"], "series": [[1.0, 2.0], [3.0]]}), held)
whole = bytearray(held.getvalue())
length, refused = int.from_bytes(whole[-8:-4], "little"), 0
for place in range(len(whole) - 8 - length, len(whole) - 8):
    for change in (1, 16, 255):
        altered = bytearray(whole)
        altered[place] = (altered[place] + change) % 256
        try:
            contents(bytes(altered), "own.parquet", Columns(label="label"))
        except DataError as error:
            refused += len(str(error).splitlines()) == 1
print(refused)
"""


def test_no_altered_byte_of_a_footer_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", ALTERED], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100
