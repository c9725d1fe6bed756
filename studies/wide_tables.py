"""How long a wide table of 500 MB takes to read, and how much memory, beside pyarrow reading the same file.

Each reading has a process of its own, which says its seconds and the most memory that it held. Pyarrow's share is the
plain one: ``read_csv``, with blocks as long as the file needs, and its columns as one array of 32-bit floats.

    python studies/wide_tables.py [--cells 50000000] [--rounds 3] [--out studies/wide_tables.json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from command import keep

COLUMNS = (50, 50_000)

_BEGIN = "import json, pathlib, resource, sys, time; path = pathlib.Path(sys.argv[1]); began = time.perf_counter();"
_END = """
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps({"seconds": round(time.perf_counter() - began, 2), "megabytes": megabytes, "shape": x.shape[:2]}))
"""
# The imports count: whoever reads one table waits for them as well.
READERS = {
    "noisyrnn": "import noisyrnn.data; x = noisyrnn.data.read(path).x",
    "pyarrow": """
import numpy, pyarrow.csv as csv
with path.open("rb") as stream:
    line = max(len(stream.readline()), len(stream.readline()))
table = csv.read_csv(path, read_options=csv.ReadOptions(block_size=max(1 << 20, 128 * line)))
x = numpy.empty((table.num_rows, table.num_columns - 1), dtype=numpy.float32)
for column in range(1, table.num_columns):
    x[:, column - 1] = table.column(column).to_numpy()
""",
}


def write(path: Path, rows: int, columns: int) -> None:
    """Labels and numbers of nine characters, ten bytes a cell; a thousand different cells, so that writing is quick."""
    cells = [f"{value:.7f}" for value in np.random.default_rng(0).uniform(0, 1, 1000)]
    width = columns // 50
    pieces = [",".join(np.roll(cells, piece)[:50].tolist()) for piece in range(1000)]
    with path.open("w") as stream:
        stream.write(",".join(["label", *(f"t{column}" for column in range(columns))]) + "\n")
        for row in range(rows):
            stream.write(f"{'sick' if row % 3 else 'well'}," + ",".join(pieces[(row + i) % 1000] for i in range(width)))
            stream.write("\n")


def timed(reader: str, path: Path) -> dict[str, Any]:
    """Seconds, megabytes and the shape that was read."""
    command = [sys.executable, "-c", _BEGIN + READERS[reader] + _END, str(path)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def measured(cells: int, rounds: int) -> dict[str, Any]:
    """Medians of the seconds and the most memory, by shape and reader."""
    found: dict[str, Any] = {"cores": os.cpu_count(), "rounds": rounds, "files": []}
    with tempfile.TemporaryDirectory() as directory:
        for columns in COLUMNS:
            path, rows = Path(directory, "wide.csv"), cells // columns
            write(path, rows, columns)
            one: dict[str, Any] = {"columns": columns, "rows": rows, "megabytes": round(path.stat().st_size / 1e6)}
            told: dict[str, list[dict[str, Any]]] = {reader: [] for reader in READERS}
            for _ in range(rounds):  # in turn, so that what else a machine does falls on both
                for reader, readings in told.items():
                    readings.append(timed(reader, path))
                    print(f"{columns} columns, {reader}: {readings[-1]}", flush=True)
            for reader, readings in told.items():
                if any(reading["shape"] != [rows, columns] for reading in readings):
                    raise SystemExit(f"{reader} reads another shape than was written.")
                seconds = statistics.median(reading["seconds"] for reading in readings)
                one[reader] = {"seconds": seconds, "megabytes": max(reading["megabytes"] for reading in readings)}
            found["files"].append(one)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    keep(options.out, measured(options.cells, options.rounds))


if __name__ == "__main__":
    main()
